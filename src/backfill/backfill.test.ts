import { expect, test } from "vitest";
import { createManualClock, ManualClock } from "../../test/support/manual-clock.ts";
import { durationMs, epochMs } from "../core/units.ts";
import type { BatchRunner } from "../ingest/running/batch-runner.ts";
import { endPause, PAUSE_LOOK_MS, setPause } from "../ingest/running/pause.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
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

const SCOPE = { pipeline: "p", generation: 0 };
const OPTIONS = {
  scope: SCOPE,
  request: { bucket: "b", prefix: "", since: null, until: null, versions: false },
  runId: "r",
  digests: { codeDigest: "", configDigest: "", environment: "{}" },
  rate: null,
  dryRun: false,
  batchMs: durationMs(1_000),
};

/** The batches of a backfill: milliseconds since its start, and objects. */
async function batchesOf(
  rate: number | null,
  workMs: number,
  { pausedLooks = 0 } = {},
): Promise<[number, number][]> {
  const manual = new ManualClock(undefined, { sleepAdvances: true });
  const idle = new Promise<void>(() => {});
  let looks = 0;
  /** Looks for a pause beside a batch take no time. */
  const sleep: ManualClock["sleep"] = (ms) =>
    ms === PAUSE_LOOK_MS && looks >= pausedLooks ? idle : manual.sleep(ms);
  const clock = { ...manual, sleep };
  const startedAt = clock.now();
  const batches: [number, number][] = [];
  const runner = {
    async run(deliveries) {
      batches.push([clock.now() - startedAt, deliveries.length]);
      clock.advance(workMs);
      return deliveries.map((delivery) => ({ delivery, settlement: { kind: "delete" } }));
    },
  } as Pick<BatchRunner, "run"> as BatchRunner;
  const memory = createMemoryLedger({ clock });
  if (pausedLooks > 0) {
    await setPause(memory, SCOPE, { since: startedAt, by: "ops", reason: "migration" });
  }
  const ledger = {
    ...memory,
    async findNote(...call: Parameters<typeof memory.findNote>) {
      looks += 1;
      if (looks === pausedLooks) await endPause(memory, SCOPE);
      return await memory.findNote(...call);
    },
  };
  const lister = { list: async () => ({ objects: objectsOf(10), next: null }) };
  await runBackfill(
    { clock, ledger, lister, runner },
    { ...OPTIONS, rate },
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

test("the rate holds after a pause, whose time is not made up for (B8)", async () => {
  const pausedMs = 4 * PAUSE_LOOK_MS;
  expect(await batchesOf(4, 10, { pausedLooks: 5 })).toEqual([
    [pausedMs, 4],
    [pausedMs + 1_000, 4],
    [pausedMs + 2_000, 2],
  ]);
});

test("without a rate all objects of a page are in one batch", async () => {
  expect(await batchesOf(null, 10)).toEqual([[0, 10]]);
});

test("a paused pipeline holds a backfill before its first batch, until the resume (B7)", async () => {
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const ledger = createMemoryLedger({ clock });
  await setPause(ledger, SCOPE, { since: clock.now(), by: "ops", reason: "migration" });
  const heard: (string | null)[] = [];
  let looks = 0;
  const looking = {
    ...ledger,
    async findNote(...call: Parameters<typeof ledger.findNote>) {
      looks += 1;
      if (looks === 5) await endPause(ledger, SCOPE);
      return await ledger.findNote(...call);
    },
  };
  const batches: number[] = [];
  const runner = {
    async run(deliveries) {
      batches.push(looks);
      return deliveries.map((delivery) => ({ delivery, settlement: { kind: "delete" } }));
    },
  } as Pick<BatchRunner, "run"> as BatchRunner;
  const lister = { list: async () => ({ objects: objectsOf(3), next: null }) };
  const onPause = (pause: { readonly reason: string } | null) => heard.push(pause?.reason ?? null);
  const { signal } = new AbortController();
  await runBackfill({ clock, ledger: looking, lister, runner }, { ...OPTIONS, onPause }, signal);
  expect(batches).toEqual([5]);
  expect(heard).toEqual(["migration", null]);
});
