// tidegate backfill as a real process against the embedded cloud: flags, progress, JSON, kill -9,
// and a pipeline that runs at the same time.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { endOf, startCommand, untilHolds } from "../../support/command-process.ts";
import { needsFullSize } from "../../support/full-size.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("backfill-command");
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(Date.now() + ms).toISOString();
/** Objects of the very moment are left to their events by default. */
const UNTIL = ["--until", at(HOUR_MS)];
let cloud: Awaited<ReturnType<typeof startCloud>>;

beforeAll(async () => {
  cloud = await startCloud({ port: 0 });
});
afterAll(() => cloud.close());

/** A pipeline that says which object it handles, and stops at one of them if asked to. */
const sourceOf = (bucket: string) => `import { pipeline, tables } from "tidegate";
let handled = 0;
export default pipeline({
  name: "${bucket}",
  source: { bucket: "${bucket}", queue: "${bucket}-events" },
  concurrency: { total: 1 },
  timeoutMs: 1_000, // The claims of a killed process last about this long.
  sink: tables({ lines: { columns: { id: "text", body: "text" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    handled += 1;
    if (process.env.HANG === String(handled)) {
      process.stderr.write("hanging\\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
    upsert("lines", { id: file.object.key, body: await file.text() });
  },
});
`;

async function worldOf(bucket: string) {
  const { endpoint } = cloud;
  const s3 = createS3Client(endpoint);
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  await s3.createBucket({ Bucket: bucket });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${bucket}-events` });
  const file = join(folder, `${bucket}.ts`);
  writeFileSync(file, sourceOf(bucket));
  const path = join(folder, `${bucket}.db`);
  const location = ["--ledger", `sqlite:${path}`, "--endpoint", endpoint];
  const start = (words: readonly string[], env: Record<string, string> = {}) =>
    startCommand([...words, ...location], { env });
  return {
    s3,
    start,
    file,
    put: (Key: string) => s3.putObject({ Bucket: bucket, Key, Body: `body of ${Key}` }),
    async notify() {
      const names = { QueueUrl, AttributeNames: ["QueueArn" as const] };
      const { Attributes } = await sqs.getQueueAttributes(names);
      const QueueArn = String(Attributes?.QueueArn);
      const configuration = { QueueArn, Events: ["s3:ObjectCreated:*" as const] };
      await s3.putBucketNotificationConfiguration({
        Bucket: bucket,
        NotificationConfiguration: { QueueConfigurations: [configuration] },
        SkipDestinationValidation: true,
      });
    },
    /** Runs it to its end, and returns its JSON lines. */
    async run(...more: string[]) {
      const { code, out, err } = await endOf(start(["backfill", file, "--json", ...more]));
      const lines = out.split("\n").filter((line) => line !== "");
      return { code, err, lines: lines.map((line) => JSON.parse(line)) };
    },
    ids(): string[] {
      const db = new DatabaseSync(path, { readOnly: true });
      const rows = db.prepare("SELECT id FROM lines ORDER BY id").all();
      db.close();
      return rows.map(({ id }) => String(id));
    },
  };
}

test("prefix, times and a dry run choose what is ingested, and JSON lines count it", async (context) => {
  needsFullSize(context);
  const world = await worldOf("chosen");
  for (const key of ["in/a", "in/b", "other/c"]) await world.put(key);
  const first = await world.run("--prefix", "in/", ...UNTIL, "--rate", "1000");
  expect([first.code, first.err]).toEqual([0, ""]);
  const [progress, summary] = first.lines;
  expect(progress).toMatchObject({ event: "progress", listed: 2, done: 2, total: 2 });
  expect(progress.remainingMs).toBe(0);
  expect(summary).toMatchObject({ event: "summary", dryRun: false, done: 2, skipped: 0 });
  expect(world.ids()).toEqual(["in/a", "in/b"]);

  const dry = await world.run("--dry-run", ...UNTIL);
  expect(dry.lines.at(-1)).toMatchObject({ dryRun: true, listed: 3, skipped: 2, done: 1 });
  expect(world.ids()).toEqual(["in/a", "in/b"]);
  const before = await world.run("--until", at(-HOUR_MS));
  expect(before.lines.at(-1)).toMatchObject({ outside: 3, done: 0 });
  const since = await world.run("--since", at(-HOUR_MS), ...UNTIL);
  expect(since.lines.at(-1)).toMatchObject({ listed: 3, outside: 0, skipped: 2, done: 1 });
  expect(world.ids()).toEqual(["in/a", "in/b", "other/c"]);

  const words = ["backfill", world.file, ...UNTIL];
  const shown = await endOf(world.start(words));
  expect(shown.out).toMatch(/^3 objects listed\n {2}ingested: 0\n {2}skipped, .*: 3\n/);
  expect(shown.err).toContain("3 of 3 objects: 0 done, 3 skipped; about 0 s left");
  const refused = await world.run("--since", at(HOUR_MS));
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("is in the future")]);
});

test("a backfill that was killed is continued, and every object is ingested once", async () => {
  const world = await worldOf("killed");
  const keys = Array.from({ length: 12 }, (_, nth) => `in/${String(nth).padStart(2, "0")}`);
  for (const key of keys) await world.put(key);
  const words = ["backfill", world.file, "--json", "--rate", "4", ...UNTIL];
  const killed = world.start(words, { HANG: "7" });
  await untilHolds(killed, () => killed.printed.err.includes("hanging"));
  killed.child.kill("SIGKILL");
  await killed.ended;
  expect(world.ids().length).toBeLessThan(keys.length);
  const next = await world.run(...UNTIL);
  const { continued, done, skipped, unfinished } = next.lines.at(-1);
  expect([next.code, continued, unfinished]).toEqual([0, true, 0]);
  expect(skipped).toBeGreaterThanOrEqual(4);
  expect(done + skipped).toBe(keys.length);
  expect(world.ids()).toEqual(keys);
  const last = await world.run(...UNTIL);
  expect(last.lines.at(-1)).toMatchObject({ continued: false, done: 0, skipped: keys.length });
});

test("a backfill beside a running pipeline ingests every object, and none is lost", async (context) => {
  needsFullSize(context);
  const world = await worldOf("beside");
  const old = Array.from({ length: 20 }, (_, nth) => `old/${String(nth).padStart(2, "0")}`);
  const fresh = Array.from({ length: 20 }, (_, nth) => `new/${String(nth).padStart(2, "0")}`);
  for (const key of old) await world.put(key);
  await world.notify();
  const live = world.start(["run", world.file, "--metrics-port", "0"]);
  try {
    const writing = (async () => {
      for (const key of fresh) await world.put(key);
    })();
    const first = await world.run(...UNTIL);
    expect([first.code, first.lines.at(-1).unfinished]).toEqual([0, 0]);
    await writing;
    const all = [...fresh, ...old].toSorted();
    await untilHolds(live, () => world.ids().length === all.length);
    expect(world.ids()).toEqual(all);
    live.child.kill("SIGTERM");
    await live.ended;
    const again = await world.run(...UNTIL);
    expect(again.lines.at(-1)).toMatchObject({ done: 0, skipped: all.length });
  } finally {
    live.child.kill("SIGKILL");
    await live.ended;
  }
});

test("--versions ingests all versions of an object, and says so", async () => {
  const world = await worldOf("kept");
  await world.s3.putBucketVersioning({
    Bucket: "kept",
    VersioningConfiguration: { Status: "Enabled" },
  });
  for (let nth = 0; nth < 3; nth += 1) await world.put("in/a");
  const { code, lines } = await world.run("--versions", ...UNTIL);
  expect(code).toBe(0);
  expect(lines.at(-1)).toMatchObject({ event: "summary", listed: 3, done: 3, unfinished: 0 });
  expect(world.ids()).toEqual(["in/a"]);
});
