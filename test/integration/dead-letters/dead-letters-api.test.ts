// Dead letters from a program: an embedded cloud, the AWS SDK, a ledger in a file, and a pipeline
// that runs while its dead letters are listed, redriven and dropped.

import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cloud, createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import {
  type DeadLetterEntry,
  type DeadLetters,
  openOperator,
  type RedriveEvent,
} from "../../../src/api/operate.ts";
import { buildEnvelope } from "../../../src/core/events/envelope.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import type { RunningPipeline } from "../../../src/run/run-pipeline.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("dead-letters-api");
const ledger = `sqlite:${join(folder, "ledger.db")}`;
const state = { broken: true, applied: [] as string[] };
let cloud: Cloud;
let running: RunningPipeline;

const orders = pipeline({
  name: "orders",
  source: { queue: "orders" },
  handler({ envelope }) {
    const key = envelope.dedupe_key;
    if (state.broken)
      throw new PermanentError(`cannot read ${key}`, { class: key.split("-")[0] ?? "" });
    state.applied.push(key);
  },
});

beforeAll(async () => {
  const deadLetter = { queue: "orders-dead", maxReceiveCount: 25 };
  cloud = await startCloud({
    setup: { queues: [{ name: "orders-dead" }, { name: "orders", deadLetter }] },
  });
  const settings = { endpoint: cloud.endpoint, ledger, data: folder, metricsPort: 0 };
  running = await startPipeline(orders, settings, { onLogLine: () => {} });
});

afterAll(async () => {
  await running.stop();
  await cloud.close();
});

beforeEach(() => {
  state.broken = true;
  state.applied = [];
});

async function deadLetter(...keys: string[]): Promise<void> {
  const queue = createCloudQueue(cloud, { queue: "orders" });
  for (const dedupeKey of keys) {
    const eventTime = "2026-11-15T08:00:00Z";
    const built = buildEnvelope({ source: "test.unit.api", dedupeKey, eventTime, payload: {} });
    if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
    const { body } = built.value;
    await queue.sendBatch([{ body, attributes: {}, groupId: null, dedupId: null }]);
  }
  await expect.poll(() => running.deadLetterDepth()).toBe(keys.length);
}

async function listed(
  deadLetters: DeadLetters,
  ...filter: Parameters<DeadLetters["list"]>
): Promise<DeadLetterEntry[]> {
  const entries: DeadLetterEntry[] = [];
  for await (const entry of deadLetters.list(...filter)) entries.push(entry);
  return entries;
}

test("dead letters can be listed and redriven by class", async () => {
  await deadLetter("schema-1", "schema-2", "tax-1");
  await using operator = openOperator({ pipeline: orders, ledger, endpoint: cloud.endpoint });
  const { deadLetters } = operator;
  const before = await listed(deadLetters, { class: "schema" });
  expect(before.map(({ message }) => message).toSorted()).toEqual([
    "PermanentError: cannot read schema-1",
    "PermanentError: cannot read schema-2",
  ]);
  expect(before[0]).toMatchObject({ pipeline: "orders", generation: 0, state: "parked" });

  state.broken = false;
  const events: RedriveEvent[] = [];
  const redrive = deadLetters.redrive({ class: "schema" }, { perSecond: 100 });
  for await (const event of redrive) events.push(event);
  expect(await redrive.result()).toMatchObject({
    sent: 2,
    committed: 2,
    failedAgain: 0,
    stopped: null,
  });
  expect(events.filter(({ kind }) => kind === "ended")).toHaveLength(2);
  expect(state.applied.toSorted()).toEqual(["schema-1", "schema-2"]);
  expect((await listed(deadLetters)).map((entry) => entry.class)).toEqual(["tax"]);

  const preview = deadLetters.drop({ class: "tax" }, { dryRun: true });
  expect(await preview.result()).toMatchObject({ planned: 1 });
  expect(await listed(deadLetters)).toHaveLength(1);
  const dropped = await deadLetters.drop({ class: "tax" }).result();
  expect(dropped).toEqual({ planned: 0, dropped: 1, skipped: 0 });
  expect(await listed(deadLetters)).toEqual([]);
  expect(await running.deadLetterDepth()).toBe(0);
});

test("a name is enough: the dossiers name the queue", async () => {
  await deadLetter("shape-1");
  await using operator = openOperator({ pipeline: "orders", ledger, endpoint: cloud.endpoint });
  const { deadLetters } = operator;
  state.broken = false;
  expect(await deadLetters.redrive().result()).toMatchObject({ sent: 1, committed: 1 });
  expect(state.applied).toEqual(["shape-1"]);
});

test("without dead letters and without a queue there is nothing to do", async () => {
  await using operator = openOperator({ pipeline: "unheard-of", ledger });
  const { deadLetters } = operator;
  expect(await deadLetters.redrive().result()).toMatchObject({ sent: 0, stopped: null });
  expect(await deadLetters.drop().result()).toEqual({ planned: 0, dropped: 0, skipped: 0 });
});

test("open queues can be passed, but not one by name and one open", async () => {
  const queue = createCloudQueue(cloud, { queue: "orders" });
  const deadLetterQueue = createCloudQueue(cloud, { queue: "orders-dead" });
  await using open = openOperator({ pipeline: orders, ledger, queue, deadLetterQueue });
  const dropped = await open.deadLetters.drop().result();
  expect(dropped).toEqual({ planned: 0, dropped: 0, skipped: 0 });
  await using mixed = openOperator({ pipeline: orders, ledger, deadLetterQueue });
  await expect(mixed.deadLetters.redrive().result()).rejects.toThrow(
    "deadLetterQueue is an open queue",
  );
});
