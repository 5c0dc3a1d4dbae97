// Live manifests: writes the manifests of a pipeline's runs while it runs.
//   V1. A day of a run is written when it can no longer change: when the run wrote its end, or a
//       heartbeat after the day, both with some time for calls in flight. The ledger has everything
//       that it says, so kill -9 loses nothing: a later process writes what is missing.
//   V2. It never delays the pipeline. A manifest that cannot be written is counted, logged and
//       tried again in a later round. Closing waits for at most CLOSE_MS.
//   V3. Processes that share a ledger may write the same part: they write the same bytes, once.
//   V4. The first part of a day is written last, so if it exists, the day is complete. Until then
//       the other parts may be of a writer that died, and older than the run: they are replaced. A
//       writer stops if another one has completed the day, or if the run has continued since.
//   V5. A silent run may be dead or frozen, and a frozen process may continue. Its end is presumed
//       only after the day is over, or if its process is gone from this machine, and the manifest
//       says so. If the run continues, a second revision replaces it, in a folder of its own.
//   V6. All runs of the ledger get manifests, the own run and the newest ones first. A round looks
//       at a bounded number of runs and days; the next one starts where it stopped.
//   V7. A day that failed, of any run, waits until all runs had their turn, and in a round only one
//       new day of a run may fail. So days that keep failing delay only later days of their run. A
//       round tries at most FAILURES_MAX days that fail: the target may be down.

import { type DurationMs, days, type EpochMs, minutes, seconds } from "../../core/units.ts";
import { messageOf } from "../../ingest/policy/error-text.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { ManifestSeal } from "../run-manifest.ts";
import { storedJson } from "./manifest-input.ts";
import { dayName, daysOf, type ManifestPart, partsOfDay } from "./recorded-manifest.ts";
import type { LocationOf } from "./recorded-run.ts";

/** Between two looks for parts that are due. */
export const ROUND_MS: DurationMs = minutes(10);
/** After midnight, for commits that are dated by another clock. */
export const DAY_GRACE_MS: DurationMs = minutes(5);
/** How long after its day the end of a silent run is presumed (V5). */
export const SILENT_MS: DurationMs = minutes(15);
/** How long closing waits for the last part (V2). */
const CLOSE_MS: DurationMs = seconds(10);
/** Between two rounds while runs are left to look at (V6). */
export const CATCH_UP_MS: DurationMs = seconds(10);
const RUNS_PER_PAGE = 100;
const PAGES_PER_ROUND = 3;
/** Days that a round writes. */
const DAYS_PER_ROUND = 100;
/** After so many failures, a round ends (V7). */
export const FAILURES_MAX = 3;
const DAY_MS: DurationMs = days(1);

export interface LiveManifests {
  /** Writes what is due, the run itself included. Never rejects. */
  close(): Promise<void>;
}

export interface SealedText {
  readonly sealed: ManifestSeal;
  readonly pieces: AsyncIterable<string>;
}

export interface ManifestTarget {
  /** The seal of a manifest; null if there is none at the path. */
  sealOf(path: string, signal: AbortSignal): Promise<ManifestSeal | null>;
  /** Writes a manifest, unless it exists (T1 of manifest-target.ts). */
  put(path: string, text: SealedText, signal: AbortSignal): Promise<void>;
  /** Writes it in place of an earlier one, if it may (T1 of manifest-target.ts). */
  replace(
    path: string,
    text: SealedText,
    signal: AbortSignal,
    mayReplace?: () => Promise<boolean>,
  ): Promise<void>;
  close(): void;
}

export interface ManifestsPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly telemetry: Pick<Telemetry, "count" | "log">;
  readonly target: ManifestTarget;
  /** Whether a process of this machine is alive; null if its host is another one. */
  readonly isAlive: (host: string, pid: number) => boolean | null;
}

export interface ManifestsOptions {
  readonly scope: LedgerScope;
  readonly runId: string;
  readonly locationOf: LocationOf;
  /** Records per part. Default: PART_RECORDS. */
  readonly partRecords?: number;
}

export function startLiveManifests(
  ports: ManifestsPorts,
  options: ManifestsOptions,
): LiveManifests {
  const { clock } = ports;
  const closing = new AbortController();
  const ending = new AbortController();
  const writer = createManifestWriter(ports, options, ending.signal);
  const rounds = work();
  async function work(): Promise<void> {
    for (;;) {
      const isDone = await writer.round();
      if (closing.signal.aborted) return;
      await clock.sleep(isDone ? ROUND_MS : CATCH_UP_MS, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
    }
  }
  return {
    async close() {
      closing.abort();
      const over = new AbortController();
      const deadline = clock.sleep(CLOSE_MS, over.signal).catch(() => undefined);
      await Promise.race([rounds.then(() => writer.round()), deadline]); // V2
      over.abort();
      ending.abort();
      ports.target.close();
    },
  };
}

/** Writes parts that are due; a round never rejects. */
function createManifestWriter(
  ports: ManifestsPorts,
  options: ManifestsOptions,
  signal: AbortSignal,
) {
  const { ledger } = ports;
  const { scope, runId } = options;
  const round = createRound(ports, options, signal);
  /** Where the next round continues; null if it starts from the newest run. */
  let cursor: string | null = null;

  async function writePage(after: string | null): Promise<string | null> {
    const page = await ledger.listRuns(scope, { after, limit: RUNS_PER_PAGE });
    for (const row of page.runs) if (row.id !== runId) await round.writeRun(row);
    return page.next;
  }

  /** V6 */
  async function writeRuns(): Promise<void> {
    const own = await ledger.findRun(scope, runId);
    if (own !== undefined) await round.writeRun(own);
    const second = await writePage(null);
    if (round.isFull()) return;
    cursor = second === null ? null : (cursor ?? second);
    for (let page = 1; page < PAGES_PER_ROUND && cursor !== null; page += 1) {
      const next: string | null = await writePage(cursor);
      if (round.isFull()) return;
      cursor = next;
    }
    if (cursor === null) await round.writeWaiting(); // V7
  }

  return {
    /** Whether it looked at all runs; if not, the next round is due soon. */
    async round(): Promise<boolean> {
      round.begin();
      try {
        await writeRuns();
      } catch (error) {
        if (signal.aborted) return true;
        round.failed(error);
      }
      return round.hasFailed() || (cursor === null && !round.isFull());
    },
  };
}

/** What one round writes, and the days that wait for a later one (V7). */
function createRound(ports: ManifestsPorts, options: ManifestsOptions, signal: AbortSignal) {
  const { ledger, telemetry } = ports;
  const { scope } = options;
  const days = createDayWriter(ports, options, signal);
  /** Days that failed, by `run/day`, the longest waiting first. */
  const waiting = new Map<string, { readonly id: string; readonly day: EpochMs }>();
  let earlier: readonly string[] = [];
  let written = 0;
  let failures = 0;
  const isFull = () => written >= DAYS_PER_ROUND || failures >= FAILURES_MAX;
  const failed = (error: unknown) => {
    failures += 1;
    reportFailure(telemetry, error); // V2
  };

  /** Whether it did not fail. */
  async function writeDay(row: RunRow, day: EpochMs): Promise<boolean> {
    const { id } = row;
    try {
      if (await days.write(row, day)) written += 1;
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      waiting.set(`${id}/${day}`, { id, day }); // V7
      failed(error);
      return false;
    }
  }

  return {
    isFull,
    failed,
    hasFailed: () => failures > 0,
    begin() {
      earlier = [...waiting.keys()];
      written = 0;
      failures = 0;
    },
    async writeRun(row: RunRow): Promise<void> {
      for (const day of daysOf({ scope, row })) {
        if (isFull() || waiting.has(`${row.id}/${day}`)) continue;
        if (!(await writeDay(row, day))) return; // V7
      }
    },
    /** Tries the days again that failed in earlier rounds (V7). */
    async writeWaiting(): Promise<void> {
      for (const name of earlier) {
        const day = waiting.get(name);
        if (day === undefined || isFull()) continue;
        waiting.delete(name);
        const row = await ledger.findRun(scope, day.id);
        if (row !== undefined) await writeDay(row, day.day);
      }
    },
  };
}

function reportFailure(telemetry: ManifestsPorts["telemetry"], error: unknown): void {
  telemetry.count(CONSUMER_METRICS.manifestsFailed.name, 1);
  telemetry.log("warn", `a run manifest was not written: ${messageOf(error)}`, {});
}

/** Writes the parts of a day, once, or a second time if its first seal was presumed (V5). */
function createDayWriter(ports: ManifestsPorts, options: ManifestsOptions, signal: AbortSignal) {
  const { clock, ledger, target } = ports;
  const { scope, locationOf, partRecords } = options;
  /** The seals of days whose parts are known to exist, by `run/day`. */
  const seals = new Map<string, ManifestSeal>();
  const seenOver = new Map<string, EpochMs>();

  const firstPart = (row: RunRow, day: EpochMs, revision: number) =>
    target.sealOf(pathOf(row.id, { day: dayName(day), part: 1, revision }), signal);

  /** Whether the parts are still due, and the run is as it was when they were listed (V4). */
  async function isStillDue(row: RunRow, day: EpochMs, { sealed, revision }: Due) {
    if ((await firstPart(row, day, revision)) !== null) return false;
    const fresh = await ledger.findRun(scope, row.id);
    if (fresh === undefined || sealOf(ports, options, fresh, day) !== sealed) return false;
    return sealed !== "presumed" || fresh.seenAt === row.seenAt;
  }

  /** Whether the day has no parts: one that is empty. */
  async function put(row: RunRow, day: EpochMs, due: Due): Promise<boolean> {
    const sizes = partRecords === undefined ? {} : { partRecords };
    const parts = await partsOfDay(ledger, { scope, row }, day, { locationOf, ...due, ...sizes });
    const isDue = () => isStillDue(row, day, due);
    for (const part of parts) {
      signal.throwIfAborted();
      const text = { sealed: due.sealed, pieces: part.text() };
      const path = pathOf(row.id, part);
      if (parts.length > 1 && !(await isDue())) return false;
      if (part.part === 1) await target.put(path, text, signal);
      else await target.replace(path, text, signal, isDue); // V4
    }
    return parts.length === 0;
  }

  return {
    /** Whether something was to be written. */
    async write(row: RunRow, day: EpochMs): Promise<boolean> {
      const sealed = sealOf(ports, options, row, day);
      const name = `${row.id}/${dayName(day)}`;
      const existing = seals.get(name);
      if (sealed === null || existing === sealed) return false;
      if (existing !== undefined && existing !== "presumed") return false;
      if (sealed === "day-over" && !isQuiet(seenOver, name, clock.now())) return false;
      const first = await firstPart(row, day, 1);
      const latest = first === "presumed" ? ((await firstPart(row, day, 2)) ?? first) : first;
      const isDue = latest === null || (latest === "presumed" && sealed !== "presumed");
      const revision = latest === null ? 1 : 2;
      const isEmpty = isDue && (await put(row, day, { sealed, revision }));
      const written = isDue ? await firstPart(row, day, revision) : latest; // Of another, perhaps.
      if (written === null && !isEmpty) return true; // The next round writes it.
      seals.set(name, written ?? sealed);
      seenOver.delete(name);
      return isDue;
    },
  };
}

/** Whether a call that was in flight when the day ended had its time (V1). */
function isQuiet(seenOver: Map<string, EpochMs>, name: string, now: EpochMs): boolean {
  const since = seenOver.get(name) ?? now;
  seenOver.set(name, since);
  return now - since >= DAY_GRACE_MS;
}

interface Due {
  readonly sealed: ManifestSeal;
  readonly revision: number;
}

/** How it is known that the run adds nothing to the day; null if it may (V1, V5). */
function sealOf(
  { clock, isAlive }: ManifestsPorts,
  { runId }: ManifestsOptions,
  { id, endedAt, seenAt, environment }: RunRow,
  day: EpochMs,
): ManifestSeal | null {
  if (endedAt !== null) return "ended";
  const overAt = day + DAY_MS + DAY_GRACE_MS;
  if (seenAt >= overAt) return "day-over";
  if (id === runId) return null;
  if (clock.now() >= overAt + SILENT_MS) return "presumed";
  const { host, pid } = storedJson(environment);
  return isAlive(String(host), Number(pid)) === false ? "presumed" : null;
}

/** The path of a part below its target. */
export function pathOf(
  run: string,
  { day, part, revision }: Pick<ManifestPart, "day" | "part" | "revision">,
): string {
  const name = part === 1 ? "run_manifest.json" : `run_manifest.${part}.json`;
  return `${run}/${day}/${revision === 1 ? "" : `revision-${revision}/`}${name}`;
}
