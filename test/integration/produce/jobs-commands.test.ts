// tidegate jobs, relay, sweep and outbox stats as processes, on the embedded cloud.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { ownIdentity } from "../../../src/core/events/own-message.ts";
import { type DurationMs, minutes, seconds } from "../../../src/core/units.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { perEntity } from "../../../src/produce/group-strategy.ts";
import { prepare } from "../../../src/produce/prepare.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { createDownloadsWorld, type DownloadsWorld, QUEUE } from "../../support/downloads-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("jobs-commands");
const BATCH = "2026/02 #28 ✓";
const LONG_MS = 600_000;
let world: DownloadsWorld;

beforeAll(async () => {
  world = await createDownloadsWorld(folder);
});

afterAll(() => world[Symbol.asyncDispose]());

async function cli(...words: readonly string[]) {
  const ledger = ["--ledger", `sqlite:${world.database}`];
  const { code, out, err } = await world.tidegate(...words, ...ledger, "--queue", QUEUE);
  return { code, out, err, json: () => JSON.parse(out) };
}
const jobs = (word: string, ...more: readonly string[]) =>
  cli("jobs", word, ...more, "--pipeline", "downloads", "--batch", BATCH);

const jobLine = (key: string) =>
  JSON.stringify({ key, body: { FileID: key, Entity: "e", BatchID: BATCH } });

function writeJobs(...keys: readonly string[]): string {
  const file = join(folder, "jobs.jsonl");
  writeFileSync(file, `${keys.map(jobLine).join("\n")}\n\n`);
  return file;
}

test(
  "a batch is registered from a file, checked, retried and completed",
  async () => {
    await world.poll("other"); // Creates ledger and outbox.
    const file = writeJobs("good", "missing-1");
    const registered = await jobs("register", file);
    expect(registered).toMatchObject({ code: 0, out: `2 jobs in ${BATCH}: 2 new, 2 sent\n` });
    const again = (await jobs("register", file, "--json")).json();
    expect(again).toMatchObject({ kind: "registered", added: 0, sent: 0, failed: null });
    const other = await jobs("register", writeJobs("good", "else"));
    expect(other.code).toBe(1);
    expect(other.err).toContain("has 2 other jobs; nothing was changed");

    const open = await jobs("show");
    expect(open.code).toBe(1);
    expect(open.out).toContain(
      `${BATCH}: open, 0 of 2 done (2 available)\n  good  available  sent `,
    );
    await world.consume();
    const failed = await jobs("list");
    expect(failed).toMatchObject({ code: 0 });
    expect(failed.out).toMatch(
      /^missing-1 {2}failed {2}sent \S+ {2}attempts 1 {2}PermanentError: missing-1 does not exist\n$/,
    );
    const one = await cli("jobs", "show", "good", "--pipeline", "downloads");
    expect(one).toMatchObject({ code: 0, out: "good  completed\n" });

    const retried = await jobs("retry", "--json");
    expect(retried.json()).toMatchObject({ sent: 0, claimed: 0, redriven: 1, deadLettered: 0 });
    await world.consume(); // It fails again.
    expect((await jobs("show", "--json")).json()).toMatchObject({ state: "open", done: 1 });
    const skipped = await jobs("retry", "--skip-dead-letters");
    expect(skipped).toMatchObject({
      code: 1,
      out: "0 jobs sent, 0 redriven, 0 in progress, 1 dead-lettered\n",
    });

    const replaced = await jobs("register", writeJobs("good", "better"), "--replace");
    expect(replaced.out).toBe(`2 jobs in ${BATCH}: 1 new, 1 sent\n`);
    await world.consume();
    expect(await jobs("show")).toMatchObject({ code: 0, out: `${BATCH}: complete, 2 of 2 done\n` });
    const listed = await cli("jobs", "list", "--pipeline", "downloads");
    expect(listed.out).toBe(`${BATCH}: complete, 2 of 2 done\nother: complete, 5 of 5 done\n`);
  },
  LONG_MS,
);

test(
  "a lost message is found by a sweep, and a retry sends it at once",
  async () => {
    await jobs("register", writeJobs("good", "better")); // Nothing new.
    const batch = ["--batch", "lost", "--pipeline", "downloads"];
    await cli("jobs", "register", writeJobs("lost-1"), ...batch);
    const QueueUrl = `${world.cloud.endpoint}/000000000000/${QUEUE}`;
    await world.sqs.send(new PurgeQueueCommand({ QueueUrl }));
    const early = await cli("sweep", "--pipeline", "downloads");
    expect(early.out).toMatch(/^0 jobs sent, 0 republished, \d+ ended\n$/);
    const swept = await cli("sweep", "--pipeline", "downloads", "--stuck-after", "0s", "--json");
    expect(swept.json()).toMatchObject({ sent: 0, republished: 1, failed: null });
    expect((await cli("jobs", "retry", ...batch)).out).toMatch(/^1 job sent, /);
    await world.consume();
    expect((await cli("jobs", "show", ...batch)).code).toBe(0);
  },
  LONG_MS,
);

test(
  "a relay sends what a dead producer registered, and the outbox is counted",
  async () => {
    const outbox = createSqliteOutbox(systemPorts, { path: world.database });
    const entry = {
      key: ownIdentity("downloads", "body", "relayed"),
      groupId: "relayed",
      dedupId: "relayed",
      payloadDigest: "p",
      body: JSON.stringify({ FileID: "relayed", Entity: "e", BatchID: "b" }),
      attributes: {},
    };
    await outbox.register(QUEUE, [entry], { owner: "dead", leaseMs: seconds(0) });
    await outbox.register(QUEUE, [{ ...entry, key: "held" }], {
      owner: "alive",
      leaseMs: minutes(10),
    });
    await outbox.close();
    const stats = ["outbox", "stats", "--target", QUEUE, "--url", `sqlite:${world.database}`];
    expect((await world.tidegate(...stats)).out).toMatch(
      /^data-download-queue.fifo: 2 pending, the oldest for \d+ s, \d+ sent, 0 refused\n$/,
    );
    const relayed = await cli("relay", "--once");
    expect(relayed).toMatchObject({ code: 1, out: "1 row sent, 0 refused\n" });
    expect(relayed.err).toContain("1 row still pending, leased by other processes");
    expect(JSON.parse((await world.tidegate(...stats, "--json")).out)).toMatchObject({
      pending: 1,
    });
  },
  LONG_MS,
);

/** Registers a job as a process does that dies before it sends it. */
async function leaveBehind(key: string, leaseMs: DurationMs): Promise<void> {
  const job = { key, body: JSON.parse(jobLine(key)).body };
  const options = {
    target: await openSqsQueue({ client: world.sqs, queue: QUEUE }),
    groups: perEntity(({ dedupeKey }) => dedupeKey),
    claimCheck: null,
    pipeline: "downloads",
  };
  const prepared = prepare(job, {}, options);
  if (prepared.kind === "invalid") throw new Error(JSON.stringify(prepared));
  const outbox = createSqliteOutbox(systemPorts, { path: world.database });
  await outbox.register(QUEUE, [prepared.value.entry], { owner: "killed", leaseMs });
  await outbox.close();
}

test(
  "register waits for the lease of a dead process, and then sends its jobs; --no-wait exits with 1",
  async () => {
    const register = (key: string, ...more: readonly string[]) =>
      cli("jobs", "register", writeJobs(key), "--batch", key, "--pipeline", "downloads", ...more);
    await leaveBehind("held-on", minutes(10));
    const refused = await register("held-on", "--no-wait");
    expect(refused).toMatchObject({ code: 1, out: "1 job in held-on: 0 new, 0 sent\n" });
    expect(refused.err).toMatch(
      /^1 job not sent: leased by killed until \S+\. If that process has/,
    );
    await leaveBehind("held", seconds(10));
    const sent = await register("held");
    expect(sent).toMatchObject({ code: 0, out: "1 job in held: 0 new, 1 sent\n" });
    expect(sent.err).toMatch(/^1 job not sent: leased by killed until \S+\. Waiting for that time/);
  },
  LONG_MS,
);

test(
  "wrong words end with one line and exit code 2, unknown batches and files with 1 or 2",
  async () => {
    const noPipeline = await cli("jobs", "show", "--batch", "x");
    expect(noPipeline).toMatchObject({ code: 2 });
    expect(noPipeline.err).toContain("name the pipeline");
    expect(await cli("jobs", "show", "--pipeline", "downloads")).toMatchObject({
      code: 2,
      err: "--batch is required\n",
    });
    const unknown = await cli("jobs", "show", "--batch", "none", "--pipeline", "downloads");
    expect(unknown).toMatchObject({ code: 1, err: "No batch none was registered.\n" });
    const noFile = await cli(
      "jobs",
      "register",
      "no.jsonl",
      "--batch",
      "x",
      "--pipeline",
      "downloads",
    );
    expect(noFile).toMatchObject({ code: 2 });
    writeFileSync(join(folder, "bad.jsonl"), `${jobLine("a")}\n{"key":"b"}\n`);
    const bad = await cli(
      "jobs",
      "register",
      "bad.jsonl",
      "--batch",
      "x",
      "--pipeline",
      "downloads",
    );
    expect(bad.err).toContain('bad.jsonl:2 is not a job; write {"key":"…","body":…}');
    const noTarget = await world.tidegate(
      "relay",
      "--once",
      "--outbox",
      `sqlite:${world.database}`,
    );
    expect(noTarget).toMatchObject({ code: 2 });
    expect(noTarget.err).toContain("name either a queue or a topic");
  },
  LONG_MS,
);
