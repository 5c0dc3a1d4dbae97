// Power loss: whatever was acknowledged is there after a power cut, at any moment, also when a call
// to the disk failed before. TIDEGATE_POWER_CUTS sizes the runs, and TIDEGATE_POWER_FAILURES is the
// number of runs with random failures; to repeat one, name its seed in TIDEGATE_POWER_SEED.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampleOf } from "../support/full-size.ts";
import { requirePart } from "../support/requires.ts";
import {
  brokenAfterRun,
  buildRecorder,
  type Cut,
  cutPower,
  type Recording,
  type RecordOptions,
  recordRun,
} from "./power-run.ts";
import { promisesIn, type StoreKind } from "./promises.ts";
import { drawFailures } from "./random-failures.ts";

const CUTS = Number(process.env.TIDEGATE_POWER_CUTS ?? 6);
const OPERATIONS = 60;
const SEED = 20_261;
const KINDS: readonly StoreKind[] = ["broker", "compact", "blobs", "ledger", "outbox"];
const FAILURE_RUNS = Number(process.env.TIDEGATE_POWER_FAILURES ?? KINDS.length);
const FAILURE_CUTS = 10;
const FIRST_SEED = Number(process.env.TIDEGATE_POWER_SEED ?? 1);

const { cc } = requirePart("cc");
let folder: string;
let library: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-power-"));
  if (!cc.endsWith("-is-missing")) library = buildRecorder(cc, folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type RunOptions = Pick<RecordOptions, "kind" | "fail" | "lie" | "evict" | "restart">;

function recordingOf(options: RunOptions): Recording {
  return recordRun({
    ...options,
    folder: join(folder, "run"),
    library,
    operations: OPERATIONS,
  });
}

async function cutRun(options: RunOptions, cuts = CUTS): Promise<Cut[]> {
  return cutPower(recordingOf(options), { folder, cuts, seed: SEED });
}

function expectKept(cuts: readonly Cut[]): void {
  expect(cuts.filter(({ broken }) => broken.length > 0)).toEqual([]);
  expect(cuts.at(-1)?.promised).toBeGreaterThan(0);
}

describe.each(KINDS)("%s", (kind) => {
  test("a power cut at any moment loses nothing that was acknowledged", async () => {
    expectKept(await cutRun({ kind }, CUTS * 3));
  });
});

/** Calls spread over a run: at its start, at a commit, at a checkpoint and after it. */
const FAILURES: readonly (readonly [StoreKind, string])[] = [
  ["broker", "sync:4"],
  ["broker", "sync@/data:2"],
  ["broker", "sync@-wal:20"],
  ["broker", "sync@-wal:35:1:ENOSPC"],
  ["broker", "sync@/broker.sqlite:1"],
  ["broker", "sync@/broker.sqlite:2:3:ENOSPC"],
  ["broker", "write@-wal:60"],
  ["broker", "write@/broker.sqlite:12:1:ENOSPC"],
  ["broker", "truncate@.sqlite:2"],
  ["broker", "sync@/data:3"],
  ["broker", "sync@/data:4"],
  ["broker", "sync@/data:5"],
  ["compact", "sync@/data:5"],
  ["compact", "sync@/data:6"],
  ["compact", "sync@.compact:1"],
  ["compact", "sync@/broker.sqlite:2"],
  ["compact", "rename:2"],
  ["compact", "unlink:4"],
  ["compact", "write@.compact:5:1:ENOSPC"],
  ["ledger", "sync:5"],
  ["ledger", "sync@/data:3"],
  ["ledger", "sync@/data:4"],
  ["ledger", "sync@-wal:24"],
  ["ledger", "sync@-wal:40:1:ENOSPC"],
  ["ledger", "sync@/ledger.db:3"],
  ["ledger", "sync@/ledger.db:4:3:ENOSPC"],
  ["ledger", "create@/ledger.db:1"],
  ["ledger", "write:40"],
  ["ledger", "write@/ledger.db:60"],
  ["outbox", "sync@-wal:24:1:ENOSPC"],
  ["outbox", "sync@/data:4"],
  ["outbox", "sync@/data:5"],
  ["outbox", "sync@/outbox.db:4"],
  ["outbox", "write@-wal:90"],
  ["blobs", "sync:6"],
  ["blobs", "sync:7"],
  ["blobs", "write:9:1:ENOSPC"],
  ["blobs", "rename:4"],
  ["blobs", "unlink:1"],
  ["blobs", "create:5"],
];

const RANDOM_RUNS = Array.from({ length: FAILURE_RUNS }, (_, run) => {
  const seed = FIRST_SEED + run;
  const kind = KINDS[seed % KINDS.length] ?? "broker";
  // Each fifth of the runs: killed at the first failure, or with pages evicted, now or later.
  const how = [{}, {}, { restart: true }, { evict: 0 }, { evict: 5 }][Math.floor(seed / 5) % 5];
  return { seed, kind, fail: drawFailures(seed), ...how };
});

describe("random calls fail", () => {
  test.each(RANDOM_RUNS)(
    "seed $seed, $kind: nothing acknowledged is lost, and the store starts every time",
    async ({ seed, ...options }) => {
      const recording = recordingOf(options);
      const cuts = await cutPower(recording, { folder, cuts: FAILURE_CUTS, seed });
      const broken = [
        ...cuts.filter((cut) => cut.broken.length > 0),
        ...(await brokenAfterRun(recording)),
      ];
      expect({ seed, ...options, broken }).toEqual({ seed, ...options, broken: [] });
    },
  );
});

describe.each(sampleOf(4, FAILURES))("%s, %s fails", (kind, fail) => {
  test("a power cut loses nothing that was acknowledged before or after", async () => {
    expectKept(await cutRun({ kind, fail }));
  });
});

/** A fold fails while the disk has no space for a copy of the file, until later in the run. */
const WITHOUT_SPACE = ["sync@/broker.sqlite:3,statfs:1:400", "sync@/broker.sqlite:5,statfs:1:60"];

describe.each(WITHOUT_SPACE)("broker with a reserve, %s fails", (fail) => {
  test("what is committed while the file in doubt waits for space is not lost", async () => {
    const recording = recordingOf({ kind: "reserve", fail });
    expectKept(await cutPower(recording, { folder, cuts: CUTS * 3, seed: SEED }));
    expect(promisesIn(recording.root)).toContain("waits");
    expect(await brokenAfterRun(recording)).toEqual([]);
  });
});

/** A failed sync of the log, and of the file into which it is folded. */
const FAILED_SYNCS = [
  ["broker", "sync@-wal:20"],
  ["broker", "sync@/broker.sqlite:1"],
  ["broker", "sync@/broker.sqlite:2:2:ENOSPC"],
  ["ledger", "sync@.new:1"],
  ["ledger", "sync@-wal:24"],
  ["ledger", "sync@/ledger.db:3"],
  ["outbox", "sync@-wal:24:1:ENOSPC"],
  ["outbox", "sync@/outbox.db:4"],
] as const;

describe.each(sampleOf(3, FAILED_SYNCS))("%s, %s fails and the process is killed", (kind, fail) => {
  test("the next process loses nothing to a power cut", async () => {
    expectKept(await cutRun({ kind, fail, restart: true }));
  });
});

/** How many syncs after the failed one the page cache is evicted: immediately, and under load. */
describe.each([0, 9])("evicted after %i syncs:", (evict) => {
  test.each(sampleOf(3, FAILED_SYNCS))(
    "%s, %s fails and nothing acknowledged is lost",
    async (kind, fail) => {
      const recording = recordingOf({ kind, fail, evict });
      expectKept(await cutPower(recording, { folder, cuts: CUTS, seed: SEED }));
      expect(await brokenAfterRun(recording)).toEqual([]);
    },
  );
});

const MISSING_SYNCS: readonly (readonly [string, RunOptions])[] = [
  ["the broker's log", { kind: "broker", lie: "-wal" }],
  ["the broker's file", { kind: "broker", lie: "broker.sqlite" }],
  ["the data folder", { kind: "broker", lie: "/data" }],
  ["the folder of a new data folder", { kind: "broker", lie: "/disk" }],
  ["the renewed log", { kind: "broker", lie: "-wal.new", fail: "sync@-wal:20" }],
  ["the renewed file", { kind: "ledger", lie: "/ledger.db.new", fail: "sync@/ledger.db:3" }],
  ["the folder of renewed files", { kind: "ledger", lie: "/data", fail: "sync@/ledger.db:3" }],
  ["a new file", { kind: "ledger", lie: ".1.new" }],
  ["the compacted copy", { kind: "compact", lie: ".compact" }],
  ["a blob", { kind: "blobs", lie: "*" }],
  ["the folder of blobs", { kind: "blobs", lie: "/blobs" }],
  ["the ledger's log", { kind: "ledger", lie: "-wal" }],
  ["the ledger's file", { kind: "ledger", lie: "/ledger.db" }],
  ["the outbox's log", { kind: "outbox", lie: "-wal" }],
  ["the outbox's file", { kind: "outbox", lie: "/outbox.db" }],
];

/** Enough to meet a mistake that shows for a few calls only. */
const MISSING_SYNC_CUTS = 180;

describe("a missing sync is caught:", () => {
  test.each(sampleOf(3, MISSING_SYNCS))("of %s", async (_name, options) => {
    const one = { folder, cuts: MISSING_SYNC_CUTS, seed: SEED, untilBroken: true };
    const cuts = await cutPower(recordingOf(options), one);
    expect(cuts.at(-1)?.broken).not.toEqual([]);
  });
});
