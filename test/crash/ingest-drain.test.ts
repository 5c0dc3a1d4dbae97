// Draining: a consumer with running handlers is asked by SIGTERM to end.

import { afterAll, beforeAll, expect, test } from "vitest";
import { IngestWorld, readLedger, type Stream, type WorkerProcess } from "./ingest-site.ts";
import { PARTS } from "./ingest-worker.ts";

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

const MESSAGES = 12;
const RUNNING = 4;
/** More than any test takes: only a second signal ends what is held. */
const NO_END_MS = 600_000;
/** So that what is visible again was given back, and has not merely run out. */
const VISIBILITY_MS = 600_000;
const LEASES = ["receipt", "ledger"] as const;

/** A consumer with RUNNING handlers that wait and the other messages in hand behind them. */
async function startHolding(title: string, lease: (typeof LEASES)[number], drainMs: number) {
  const stream = await site.createStream(title, false);
  for (let n = 1; n <= MESSAGES; n += 1) await site.send(stream, n);
  const config = { lease, drainMs, visibilityMs: VISIBILITY_MS, concurrency: RUNNING };
  const worker = site.worker(stream, { ...config, holds: true });
  await worker.told(/^holding/, RUNNING);
  // A receive that is ended with messages on their way would leave them hidden for a while.
  await worker.told(/^brought/, MESSAGES);
  return { stream, worker };
}

function receivesAfterDrain({ lines }: WorkerProcess): number {
  return lines.slice(lines.indexOf("drain")).filter((line) => line === "receiving").length;
}

/** What went back is taken up at once by another, and everything is there once. */
async function finish(stream: Stream, title: string): Promise<void> {
  const heir = site.worker(stream, { owner: "heir" });
  await heir.told(/^ready$/);
  await site.empty(stream.name);
  expect(await heir.end("SIGTERM")).toBe(0);
  const { readings, commits, records } = readLedger(stream);
  expect(readings).toHaveLength(MESSAGES * PARTS);
  expect(records.map(({ state }) => state)).toEqual(Array(MESSAGES).fill("committed"));
  expect(new Set(commits.map(({ key }) => key)).size).toBe(MESSAGES);
  expect(commits).toHaveLength(MESSAGES);
  console.log(`drain test: ${title}, ${commits.length} commits of ${MESSAGES} messages`);
}

test.each(LEASES)(
  "what finishes is acknowledged, the rest is visible at once: %s",
  async (lease) => {
    const { stream, worker } = await startHolding(`drain-${lease}`, lease, NO_END_MS);
    const running = worker.lines.filter((line) => line.startsWith("holding"));
    worker.signal("SIGTERM");
    await worker.told(/^drain$/);
    for (const line of running.slice(0, 2)) worker.say(line.replace("holding", "release"));
    await worker.told(/^outcome committed$/, 2);
    worker.signal("SIGTERM");
    await worker.told(/^stop$/);
    expect(await worker.ended()).toBe(0);
    expect(receivesAfterDrain(worker)).toBe(0);
    const left = MESSAGES - 2;
    expect(await site.counts(stream.name)).toMatchObject({
      visible: left,
      inFlight: 0,
      delayed: 0,
    });
    expect(readLedger(stream).commits).toHaveLength(2);
    await finish(stream, `drained, ${lease}`);
  },
);

test.each(LEASES)("handlers that outlast the drain are given back: %s", async (lease) => {
  const { stream, worker } = await startHolding(`outlast-${lease}`, lease, 1);
  expect(await worker.end("SIGTERM")).toBe(0);
  expect(receivesAfterDrain(worker)).toBe(0);
  const all = { visible: MESSAGES, inFlight: 0, delayed: 0 };
  expect(await site.counts(stream.name)).toMatchObject(all);
  expect(readLedger(stream).commits).toEqual([]);
  await finish(stream, `outlasted, ${lease}`);
});
