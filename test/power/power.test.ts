// Power loss: whatever was acknowledged is there after a power cut, at any moment, also when a call
// to the disk failed before. TIDEGATE_POWER_CUTS sizes the runs.

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
import type { StoreKind } from "./promises.ts";

const CUTS = Number(process.env.TIDEGATE_POWER_CUTS ?? 6);
const OPERATIONS = 60;
const SEED = 20_261;
const KINDS: readonly StoreKind[] = ["broker", "compact", "blobs", "ledger"];

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

/** Calls spread over a run: at its start, at a commit, around a checkpoint. */
const FAILURES: readonly (readonly [StoreKind, string])[] = [
  ...["sync:4", "sync:12", "sync:31", "sync:45", "sync:46"].map(
    (call) => ["broker", call] as const,
  ),
  ...["write:12", "write:200", "truncate:2"].map((call) => ["broker", call] as const),
  ...["sync:20", "sync:21", "sync:22", "sync:23", "sync:24", "sync:25"].map(
    (call) => ["compact", call] as const,
  ),
  ...["rename:2", "rename:3", "write:150"].map((call) => ["compact", call] as const),
  ...["sync:5", "sync:31", "sync:45", "sync:46"].map((call) => ["ledger", call] as const),
  ...["write:40", "write:300"].map((call) => ["ledger", call] as const),
  ...["sync:6", "sync:7", "write:9", "rename:4", "create:5"].map(
    (call) => ["blobs", call] as const,
  ),
];

describe.each(sampleOf(4, FAILURES))("%s, %s fails", (kind, fail) => {
  test("a power cut loses nothing that was acknowledged before or after", async () => {
    expectKept(await cutRun({ kind, fail }));
  });
});

const KILLED = [
  ["broker", "sync:31"],
  ["broker", "sync:45"],
  ["ledger", "sync:31"],
  ["ledger", "sync:45"],
] as const;

describe.each(sampleOf(3, KILLED))("%s, %s fails and the process is killed", (kind, fail) => {
  test("the next process loses nothing to a power cut", async () => {
    expectKept(await cutRun({ kind, fail, restart: true }));
  });
});

const EVICTED = [
  ["broker", "sync:31"],
  ["broker", "sync:45"],
  ["broker", "sync:46"],
  ["ledger", "sync:31"],
  ["ledger", "sync:45"],
] as const;

/** How many syncs after the failed one the page cache is evicted: immediately, and under load. */
describe.each([0, 9])("evicted after %i syncs:", (evict) => {
  test.each(sampleOf(3, EVICTED))(
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
  ["the renewed log", { kind: "broker", lie: "-wal.new", fail: "sync:31" }],
  ["the compacted copy", { kind: "compact", lie: ".compact" }],
  ["a blob", { kind: "blobs", lie: "*" }],
  ["the folder of blobs", { kind: "blobs", lie: "/blobs" }],
  ["the ledger's log", { kind: "ledger", lie: "-wal" }],
  ["the ledger's file", { kind: "ledger", lie: "ledger.db" }],
];

describe("a missing sync is caught:", () => {
  test.each(sampleOf(3, MISSING_SYNCS))("of %s", async (_name, options) => {
    const one = { folder, cuts: 45, seed: SEED, untilBroken: true };
    const cuts = await cutPower(recordingOf(options), one);
    expect(cuts.at(-1)?.broken).not.toEqual([]);
  });
});
