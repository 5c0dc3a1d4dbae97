// tidegate dlq over HTTP: an embedded cloud, the AWS SDK, a ledger in a file, and the commands as
// processes of their own.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { buildEnvelope } from "../../../src/core/events/envelope.ts";
import { createConsumer } from "../../../src/ingest/running/consumer.ts";
import { createLeaseRenewer } from "../../../src/ingest/running/lease-renewer.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { SILENT } from "../../../src/ingest/telemetry/silent-telemetry.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { endOf, startCommand } from "../../support/command-process.ts";

const SECRET = "Ada-Lovelace-1815";
const folder = mkdtempSync(join(tmpdir(), "tidegate-dlq-"));
const url = `sqlite:${join(folder, "ledger.db")}`;
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
let cloud: Cloud;
let ledger: Ledger;
let queue: Queue;
let deadLetters: Queue;
let client: SQSClient;
let broken = true;
const applied: string[] = [];

const spec = pipeline({
  name: "orders",
  source: { queue: "orders" },
  mask: ["payload.person"],
  handler: (event: { envelope: { dedupe_key: string; payload: unknown } }) => {
    if (broken) throw new PermanentError(`no capacity for ${SECRET}`, { class: "schema" });
    applied.push(event.envelope.dedupe_key);
  },
} as never);

beforeAll(async () => {
  cloud = await startCloud({
    data: join(folder, "cloud"),
    setup: {
      queues: [
        { name: "orders-dead" },
        { name: "orders", deadLetter: { queue: "orders-dead", maxReceiveCount: 25 } },
      ],
    },
  });
  client = new SQSClient({ endpoint: cloud.endpoint, region: "us-east-1", credentials });
  queue = await openSqsQueue({ client, queue: "orders" });
  deadLetters = await openSqsQueue({ client, queue: "orders-dead" });
  ledger = await openLedger(url, systemPorts);
});

afterAll(async () => {
  await ledger.close();
  client.destroy();
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

async function cli(...words: string[]) {
  const location = ["--ledger", url, "--pipeline", "orders"];
  const env = { TIDEGATE_ENDPOINT: cloud.endpoint };
  const { code, out, err } = await endOf(startCommand(["dlq", ...words, ...location], { env }));
  expect(out + err).not.toContain(SECRET);
  return { code, out, err, lines: out.split("\n").filter((line) => line !== "") };
}

async function consuming<T>(work: () => Promise<T>): Promise<T> {
  const { clock } = systemPorts;
  const scope = { pipeline: spec.name, generation: spec.generation };
  const { visibilityMs } = spec;
  const renewer = createLeaseRenewer(
    { queue, ledger, scope, clock, telemetry: SILENT },
    { visibilityMs, leaseMs: visibilityMs },
  );
  const ports = { queue, deadLetters, ledger, objects: null, rows: null, sink: null, renewer };
  const consumer = createConsumer(
    { ...systemPorts, ...ports, telemetry: SILENT },
    { pipeline: spec, owner: systemPorts.random.uuid(), runId: "run-1" },
  );
  await consumer.start();
  try {
    return await work();
  } finally {
    await consumer.stop();
  }
}

async function deadLettersAre(count: number): Promise<void> {
  await expect.poll(async () => (await deadLetters.facts()).visible).toBe(count);
}

async function send(key: string): Promise<void> {
  const payload = { person: SECRET, at: key };
  const input = { source: "test.unit.dlq", dedupeKey: key, eventTime: systemPorts.clock.now() };
  const built = buildEnvelope({ ...input, payload });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  const { body } = built.value;
  await queue.sendBatch([{ body, attributes: {}, groupId: null, dedupId: null }]);
}

test("the commands list, show, redrive and drop dead letters", async () => {
  for (const key of ["a", "b", "c"]) await send(key);
  await consuming(() => deadLettersAre(3));

  const listed = (await cli("list", "--json")).lines.map((line) => JSON.parse(line));
  expect(listed.map(({ class: of, state }) => [of, state])).toEqual(
    Array.from({ length: 3 }, () => ["schema", "parked"]),
  );
  expect((await cli("list", "--group", "--json")).lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ class: "schema", count: 3 }),
  ]);
  const [first, second] = listed;
  const shown = await cli("show", first.key);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toContain("schema");
  expect(shown.out).toContain('"person": "***"');
  expect((await cli("show", "k1:missing")).code).toBe(1);

  expect((await cli("redrive", "--dry-run")).out).toContain("3 would be redriven");
  await deadLettersAre(3);
  expect((await cli("drop", "--key", first.key)).code).toBe(2);
  expect((await cli("drop", "--key", first.key, "--dry-run")).out).toContain("would be dropped");
  expect(await cli("drop", "--key", first.key, "--yes")).toMatchObject({ code: 0 });
  await deadLettersAre(2);

  const failing = () => cli("redrive", "--key", second.key, "--json");
  const again = await consuming(failing);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.lines.at(-1) ?? "")).toMatchObject({ sent: 1, failedAgain: 1 });

  broken = false;
  const last = await consuming(() => cli("redrive"));
  expect(last).toMatchObject({ code: 0 });
  expect(last.out).toContain("2 redriven: 2 committed, 0 failed again, 0 still waiting.");
  expect(applied).toHaveLength(2);
  expect((await cli("list")).err).toContain("No dead letters match.");
  for (const words of [["redrive"], ["drop", "--yes"]]) {
    const none = await cli(...words);
    expect(none).toMatchObject({ code: 0, out: "" });
    expect(none.err).toContain("no dead letter of orders; nothing was changed");
  }
  await deadLettersAre(0);
});

test("a message that SQS moved is recognised, listed as back-stop and redriven", async () => {
  broken = false;
  await send("poison");
  for (let receives = 0; receives < 26; receives += 1) {
    const request = { max: 1, waitMs: 0 as never, visibilityMs: 0 as never };
    await queue.receive(request, new AbortController().signal);
  }
  await deadLettersAre(1);
  const [line] = (await cli("list", "--peek", "--json", "--queue", "orders")).lines;
  expect(JSON.parse(line ?? "{}")).toMatchObject({
    class: "back-stop",
    state: "unknown",
    copies: 1,
  });
  const { code, out } = await consuming(() =>
    cli("redrive", "--class", "back-stop", "--queue", "orders"),
  );
  expect({ code, out }).toMatchObject({ code: 0 });
  expect(applied).toContain("poison");
});
