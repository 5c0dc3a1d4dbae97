// Power run: records one process, then cuts the power at many points of its trace and looks at what
// each cut leaves behind.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { patienceMs } from "../support/patience.ts";
import { type CutPolicy, type DiskEvent, DiskModel, parseTrace } from "./disk-model.ts";
import { brokenPromises, type StoreKind } from "./promises.ts";

const WORKER = join(import.meta.dirname, "worker.ts");
const WORKER_MS_MAX = patienceMs(120_000);
const POLICIES: readonly CutPolicy[] = ["dropped", "subset", "torn"];

export interface Recording {
  readonly kind: StoreKind;
  readonly root: string;
  readonly events: readonly DiskEvent[];
}

/** Compiles the recorder; `compiler` is a C compiler of this machine. */
export function buildRecorder(compiler: string, folder: string): string {
  const source = join(import.meta.dirname, "record-disk.c");
  const library = join(folder, "record-disk.so");
  const flags = ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"];
  execFileSync(compiler, flags, { stdio: "pipe" });
  return library;
}

export interface RecordOptions {
  readonly kind: StoreKind;
  readonly folder: string;
  readonly library: string;
  readonly operations: number;
  /** "sync:5": the fifth sync fails with EIO. More in R3 of record-disk.c. */
  readonly fail?: string;
  /** The end of paths whose syncs do nothing: code with a sync removed (R4 of record-disk.c). */
  readonly lie?: string;
  /** Evicts what a failed sync did not write, so many syncs later (R5 of record-disk.c). */
  readonly evict?: number;
  /** Kills the process at the failure; another one continues on the same files. */
  readonly restart?: boolean;
}

export function recordRun(options: RecordOptions): Recording {
  const { kind, folder, operations, fail, restart = false } = options;
  const root = join(folder, "disk");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const first = runWorker(options, [1, operations, ...(restart ? ["stop"] : [])], fail);
  if (first.signal === "SIGKILL") {
    const stopped = readFileSync(join(root, "promises"), "utf8").trim().split("\n").at(-1);
    const next = Number(/^stopped (\d+)$/.exec(stopped ?? "")?.[1]) + 1;
    expectSuccess(runWorker(options, [next, operations]));
  } else expectSuccess(first);
  return { kind, root, events: parseTrace(readFileSync(join(folder, "trace"))) };
}

function runWorker(
  { kind, folder, library, lie, evict }: RecordOptions,
  args: readonly (string | number)[],
  fail?: string,
) {
  const root = join(folder, "disk");
  return spawnSync(process.execPath, [WORKER, kind, root, ...args.map(String)], {
    env: {
      ...process.env,
      LD_PRELOAD: library,
      TIDEGATE_DISK_ROOT: root,
      TIDEGATE_DISK_TRACE: join(folder, "trace"),
      ...(fail !== undefined && { TIDEGATE_DISK_FAIL: fail }),
      ...(lie !== undefined && { TIDEGATE_DISK_LIE: lie }),
      ...(evict !== undefined && { TIDEGATE_DISK_EVICT: String(evict) }),
    },
    encoding: "utf8",
    timeout: WORKER_MS_MAX,
  });
}

function expectSuccess({ status, stderr }: ReturnType<typeof runWorker>): void {
  if (status !== 0) throw new Error(`the worker ended with ${status}: ${stderr}`);
}

export interface Cut {
  readonly at: number;
  readonly policy: CutPolicy;
  readonly promised: number;
  readonly broken: readonly string[];
}

export interface CutOptions {
  readonly folder: string;
  readonly cuts: number;
  readonly seed: number;
  /** Ends with the first cut that breaks a promise. */
  readonly untilBroken?: boolean;
}

/** Cuts the power `cuts` times, at points and with survivors drawn from `seed`. */
export async function cutPower(recording: Recording, options: CutOptions): Promise<Cut[]> {
  const { kind, root, events } = recording;
  const random = createSeededRandom(options.seed);
  const fraction = () => random.fraction();
  const disk = new DiskModel(root);
  const results: Cut[] = [];
  let applied = 0;
  for (const [index, at] of cutPoints(events, options.cuts, fraction).entries()) {
    for (const event of events.slice(applied, at)) disk.apply(event);
    applied = at;
    const policy = POLICIES[index % POLICIES.length] ?? "dropped";
    const lines = disk.visible(join(root, "promises")).toString().split("\n").slice(0, -1);
    const image = join(options.folder, "image");
    rmSync(image, { recursive: true, force: true });
    mkdirSync(image, { recursive: true });
    disk.cut(image, policy, fraction);
    const broken = await brokenPromises(kind, join(image, "data"), lines);
    results.push({ at, policy, promised: lines.length, broken });
    if (options.untilBroken && broken.length > 0) break;
  }
  return results;
}

/** Calls after which a power cut is most likely to find something missing. */
const TURNING_KINDS = new Set<DiskEvent["kind"]>(["S", "F", "R", "L", "U", "T"]);

const SYNC_KINDS = new Set<DiskEvent["kind"]>(["S", "F"]);
/** Calls that give a file its name; the cuts after it and after the next sync are the hardest. */
const NAMING_KINDS = new Set<DiskEvent["kind"]>(["R", "L"]);

/**
 * Spread over the run; every second one is right after a call that changes what is durable, and
 * every fourth one right after a file got its name, in the cache or on the disk.
 */
function cutPoints(
  events: readonly DiskEvent[],
  cuts: number,
  fraction: () => number,
): readonly number[] {
  const after = (at: number, kinds: ReadonlySet<DiskEvent["kind"]>) => {
    const index = events.findIndex(({ kind }, event) => event >= at && kinds.has(kind));
    return index < 0 ? events.length : index + 1;
  };
  const named = events.flatMap(({ kind }, at) =>
    NAMING_KINDS.has(kind) ? [at + 1, after(at + 1, SYNC_KINDS)] : [],
  );
  const points = Array.from({ length: cuts }, (_, index) => {
    const at = Math.ceil(((index + fraction()) / cuts) * events.length);
    if (index % 2 === 0) return at;
    const isNaming = index % 4 === 1 && named.length > 0;
    return isNaming
      ? (named[Math.floor(fraction() * named.length)] ?? at)
      : after(at, TURNING_KINDS);
  });
  return points.sort((a, b) => a - b);
}

/** The broken promises of the files as the process left them, without a power cut. */
export async function brokenAfterRun({ kind, root }: Recording): Promise<readonly string[]> {
  const lines = readFileSync(join(root, "promises"), "utf8").split("\n").slice(0, -1);
  return brokenPromises(kind, join(root, "data"), lines);
}
