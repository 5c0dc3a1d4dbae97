// Draining: a consumer with running handlers gets SIGTERM.

import { afterAll, beforeAll, expect, test } from "vitest";
import {
  IngestWorld,
  readLedger,
  type Stream,
  type WorkerProcess,
} from "../support/crash/ingest-world.ts";
import { PARTS } from "./ingest-worker.ts";

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

const MESSAGES = 12;
const RUNNING = 4;
/** More than any test takes: only a second signal ends held handlers. */
const NO_END_MS = 600_000;
/** So long that a visible message was returned, and did not merely time out. */
const VISIBILITY_MS = 600_000;
const LEASES = ["receipt", "ledger"] as const;

/** A consumer with RUNNING handlers that wait, and the other messages prefetched behind them. */
async function startHolding(title: string, lease: (typeof LEASES)[number], drainMs: number) {
  const stream = await world.createStream(title, false);
  for (let n = 1; n <= MESSAGES; n += 1) await world.send(stream, n);
  const config = { lease, drainMs, visibilityMs: VISIBILITY_MS, concurrency: RUNNING };
  const worker = world.worker(stream, { ...config, holds: true });
  await worker.waitForLine(/^holding/, RUNNING);
  // A receive that is aborted while messages arrive would leave them in flight for a while.
  await worker.waitForLine(/^delivered/, MESSAGES);
  return { stream, worker };
}

function receivesAfterDrain({ lines }: WorkerProcess): number {
  return lines.slice(lines.indexOf("drain")).filter((line) => line === "receiving").length;
}

/** Another consumer processes the returned messages immediately, and every row exists once. */
async function finish(stream: Stream, title: string): Promise<void> {
  const successor = world.worker(stream, { owner: "successor" });
  await successor.waitForLine(/^ready$/);
  await world.empty(stream.name);
  expect(await successor.end("SIGTERM")).toBe(0);
  const { readings, commits, records } = readLedger(stream);
  expect(readings).toHaveLength(MESSAGES * PARTS);
  expect(records.map(({ state }) => state)).toEqual(Array(MESSAGES).fill("committed"));
  expect(new Set(commits.map(({ key }) => key)).size).toBe(MESSAGES);
  expect(commits).toHaveLength(MESSAGES);
  console.log(`drain test: ${title}, ${commits.length} commits of ${MESSAGES} messages`);
}

test.each(LEASES)(
  "finished messages are acknowledged, the others are visible immediately: %s",
  async (lease) => {
    const { stream, worker } = await startHolding(`drain-${lease}`, lease, NO_END_MS);
    const running = worker.lines.filter((line) => line.startsWith("holding"));
    worker.signal("SIGTERM");
    await worker.waitForLine(/^drain$/);
    for (const line of running.slice(0, 2)) worker.writeLine(line.replace("holding", "release"));
    await worker.waitForLine(/^outcome committed$/, 2);
    worker.signal("SIGTERM");
    await worker.waitForLine(/^stop$/);
    expect(await worker.ended()).toBe(0);
    expect(receivesAfterDrain(worker)).toBe(0);
    const remaining = MESSAGES - 2;
    expect(await world.counts(stream.name)).toMatchObject({
      visible: remaining,
      inFlight: 0,
      delayed: 0,
    });
    expect(readLedger(stream).commits).toHaveLength(2);
    await finish(stream, `drained, ${lease}`);
  },
);

test.each(LEASES)("messages whose handlers outlast the drain are returned: %s", async (lease) => {
  const { stream, worker } = await startHolding(`outlast-${lease}`, lease, 1);
  expect(await worker.end("SIGTERM")).toBe(0);
  expect(receivesAfterDrain(worker)).toBe(0);
  const all = { visible: MESSAGES, inFlight: 0, delayed: 0 };
  expect(await world.counts(stream.name)).toMatchObject(all);
  expect(readLedger(stream).commits).toEqual([]);
  await finish(stream, `outlasted, ${lease}`);
});
