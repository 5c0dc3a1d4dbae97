// Dead letters from a program: an embedded cloud, the AWS SDK, a ledger in a file, and a pipeline
// that runs while its dead letters are listed, redriven and dropped.

import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cloud, createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import {
  type DeadLetter,
  type DeadLetters,
  openDeadLetters,
  type RedriveEvent,
} from "../../../src/api/dead-letters.ts";
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
  await expect.poll(() => running.deadLetterDepth(), { timeout: 20_000 }).toBe(keys.length);
}

async function listed(
  deadLetters: DeadLetters,
  ...filter: Parameters<DeadLetters["list"]>
): Promise<DeadLetter[]> {
  const entries: DeadLetter[] = [];
  for await (const entry of deadLetters.list(...filter)) entries.push(entry);
  return entries;
}

test("dead letters can be listed and redriven by class", async () => {
  await deadLetter("schema-1", "schema-2", "tax-1");
  await using deadLetters = await openDeadLetters({
    pipeline: orders,
    ledger,
    endpoint: cloud.endpoint,
  });
  const before = await listed(deadLetters, { class: "schema" });
  expect(before.map(({ message }) => message).toSorted()).toEqual([
    "PermanentError: cannot read schema-1",
    "PermanentError: cannot read schema-2",
  ]);
  expect(before[0]).toMatchObject({ pipeline: "orders", generation: 0, state: "parked" });

  state.broken = false;
  const events: RedriveEvent[] = [];
  const onEvent = (event: RedriveEvent) => void events.push(event);
  const summary = await deadLetters.redrive({ class: "schema" }, { perSecond: 100, onEvent });
  expect(summary).toMatchObject({ sent: 2, committed: 2, failedAgain: 0, stopped: null });
  expect(events.filter(({ kind }) => kind === "ended")).toHaveLength(2);
  expect(state.applied.toSorted()).toEqual(["schema-1", "schema-2"]);
  expect((await listed(deadLetters)).map((entry) => entry.class)).toEqual(["tax"]);

  expect(await deadLetters.drop({ class: "tax" }, { dryRun: true })).toMatchObject({ planned: 1 });
  expect(await listed(deadLetters)).toHaveLength(1);
  expect(await deadLetters.drop({ class: "tax" })).toEqual({ planned: 0, dropped: 1, skipped: 0 });
  expect(await listed(deadLetters)).toEqual([]);
  expect(await running.deadLetterDepth()).toBe(0);
});

test("a name is enough: the dossiers name the queue", async () => {
  await deadLetter("shape-1");
  await using deadLetters = await openDeadLetters({
    pipeline: "orders",
    ledger,
    endpoint: cloud.endpoint,
  });
  state.broken = false;
  expect(await deadLetters.redrive()).toMatchObject({ sent: 1, committed: 1 });
  expect(state.applied).toEqual(["shape-1"]);
});

test("without dead letters and without a queue there is nothing to do", async () => {
  await using deadLetters = await openDeadLetters({ pipeline: "unheard-of", ledger });
  expect(await deadLetters.redrive()).toMatchObject({ sent: 0, stopped: null });
  expect(await deadLetters.drop()).toEqual({ planned: 0, dropped: 0, skipped: 0 });
});

test("open queues can be passed, but not one by name and one open", async () => {
  const queue = createCloudQueue(cloud, { queue: "orders" });
  const deadLetterQueue = createCloudQueue(cloud, { queue: "orders-dead" });
  await using open = await openDeadLetters({ pipeline: orders, ledger, queue, deadLetterQueue });
  expect(await open.drop()).toEqual({ planned: 0, dropped: 0, skipped: 0 });
  await using mixed = await openDeadLetters({ pipeline: orders, ledger, deadLetterQueue });
  await expect(mixed.redrive()).rejects.toThrow("deadLetterQueue is an open queue");
});
