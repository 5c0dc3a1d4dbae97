import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { durationMs, epochMs } from "../core/units.ts";
import type { BatchRunner } from "../ingest/running/batch-runner.ts";
import type { ListedObject } from "../ports/object-lister.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { runBackfill } from "./backfill.ts";

function objectsOf(count: number): ListedObject[] {
  return Array.from({ length: count }, (_, nth) => ({
    key: `in/${String(nth).padStart(2, "0")}`,
    versionId: null,
    etag: "d41d8cd98f00b204e9800998ecf8427e",
    size: 1,
    lastModified: epochMs(1),
    isLatest: true,
  }));
}

/** The batches of a backfill: milliseconds since its start, and objects. */
async function batchesOf(rate: number | null, workMs: number): Promise<[number, number][]> {
  const clock = new ManualClock(undefined, { sleepAdvances: true });
  const startedAt = clock.now();
  const batches: [number, number][] = [];
  const runner = {
    async run(deliveries) {
      batches.push([clock.now() - startedAt, deliveries.length]);
      clock.advance(workMs);
      return deliveries.map((delivery) => ({ delivery, settlement: { kind: "delete" } }));
    },
  } as Pick<BatchRunner, "run"> as BatchRunner;
  const ledger = createMemoryLedger({ clock });
  const lister = { list: async () => ({ objects: objectsOf(10), next: null }) };
  const request = { bucket: "b", prefix: "", since: null, until: null, versions: false };
  await runBackfill(
    { clock, ledger, lister, runner },
    {
      scope: { pipeline: "p", generation: 0 },
      request,
      runId: "r",
      digests: { codeDigest: "", configDigest: "", environment: "{}" },
      rate,
      dryRun: false,
      batchMs: durationMs(1_000),
    },
    new AbortController().signal,
  );
  return batches;
}

test("a rate of four objects per second starts a batch of four every second", async () => {
  expect(await batchesOf(4, 10)).toEqual([
    [0, 4],
    [1_000, 4],
    [2_000, 2],
  ]);
});

test("a batch that took longer than its second is followed immediately", async () => {
  expect(await batchesOf(4, 1_500)).toEqual([
    [0, 4],
    [1_500, 4],
    [3_000, 2],
  ]);
});

test("without a rate all objects of a page are in one batch", async () => {
  expect(await batchesOf(null, 10)).toEqual([[0, 10]]);
});
