// Watermark: how far event time has advanced, and which records are late.
//   M1. W is the minimum of (latest event time - `outOfOrderMs`) over the active partitions of all
//       processes. It never goes back: not for an old record, a partition that returns, a restart,
//       or another process that is behind.
//   M2. A record is late if its event time is before W. A record at W or after it is on time. A
//       late record is too late if it is older than W by more than the allowed lateness.
//   M3. A partition is idle if it has had nothing in flight or in retry for IDLE_MS, and the queue
//       was drained all that time: no receive returned as many messages as it asked for. Until
//       then its messages may still wait in the queue. If all partitions are idle, W stays.
//   M4. An event time more than FUTURE_MS_MAX ahead of the consumer's clock, or before
//       EVENT_TIME_MIN, is ignored: one wrong clock must not make all other records late, and one
//       zero must not hold W back. It does not keep its partition active.
//   M5. Lanes depend on the order of arrival. So the ledger stores the first decision about a
//       record, and every later attempt, redrive and replay reuses it.
//   M6. The lane only affects routing. Late records are never dropped.
//   M7. At most PARTITIONS_MAX partitions have their own event time. Any further ones share one,
//       OTHER_PARTITIONS, as if `partition` had returned that name.

import type { Lane, LaneDecision } from "../../core/lane.ts";
import {
  addMs,
  type DurationMs,
  days,
  type EpochMs,
  epochMs,
  minutes,
  msBetween,
  subtractMs,
} from "../../core/units.ts";

export const IDLE_MS: DurationMs = minutes(15);
export const FUTURE_MS_MAX: DurationMs = minutes(5);
/** 1971: earlier event times are missing values that became 0 (M4). */
export const EVENT_TIME_MIN: EpochMs = epochMs(days(365));
/** Partitions of one process (M7). */
export const PARTITIONS_MAX = 1_000;
/** The name that partitions share beyond PARTITIONS_MAX. */
export const OTHER_PARTITIONS = "(other)";
/** How long a report of a receive counts; a long poll takes 20 seconds (M3). */
export const POLL_FRESH_MS: DurationMs = minutes(2);

export interface Partition {
  readonly latest: EpochMs;
  /** When it last had something in flight or in retry, as far as known; may be in the future. */
  readonly activeUntil: EpochMs;
}

export interface WatermarkState {
  readonly outOfOrderMs: DurationMs;
  /** Null until the first observation. */
  readonly watermark: EpochMs | null;
  readonly partitions: ReadonlyMap<string, Partition>;
  /** Since when no receive has returned as many messages as it asked for; null if unknown (M3). */
  readonly drainedSince: EpochMs | null;
}

export interface EventTimeObservation {
  /** A stream with its own event time: a bucket and prefix, a message group, a source. */
  readonly partition: string;
  readonly eventTime: EpochMs;
  readonly now: EpochMs;
}

/** What one process knows, for the others. */
export interface PartitionReport {
  readonly partitions: ReadonlyMap<string, Partition>;
  /** When a receive last ended; null if none did. */
  readonly polledAt: EpochMs | null;
  readonly drainedSince: EpochMs | null;
}

/** `restored` is the stored watermark of an earlier run. */
export function startWatermark(
  outOfOrderMs: DurationMs,
  restored: EpochMs | null = null,
): WatermarkState {
  return { outOfOrderMs, watermark: restored, partitions: new Map(), drainedSince: null };
}

export function observe(state: WatermarkState, observation: EventTimeObservation): WatermarkState {
  return observeAll(state, [observation]);
}

/** Observes all of them at the cost of one call of `observe`. */
export function observeAll(
  state: WatermarkState,
  observations: readonly EventTimeObservation[],
): WatermarkState {
  if (observations.length === 0) return state;
  const partitions = new Map(state.partitions);
  let latestNow = Number.NEGATIVE_INFINITY as EpochMs;
  let isFull = false;
  for (const { partition, eventTime, now } of observations) {
    latestNow = Math.max(latestNow, now) as EpochMs;
    if (!isBelievable(eventTime, now)) continue; // M4
    if (!isFull && partitions.size >= PARTITIONS_MAX && !partitions.has(partition)) {
      dropIdle(partitions, { ...state, now });
      isFull = partitions.size >= PARTITIONS_MAX; // One search per call is enough.
    }
    const name = isFull && !partitions.has(partition) ? OTHER_PARTITIONS : partition; // M7
    mergePartition(partitions, name, { latest: eventTime, activeUntil: now });
  }
  return advance({ ...state, partitions }, latestNow);
}

/** Keeps partitions active that have something in flight or in retry until then (M3). */
export function keepActive(
  state: WatermarkState,
  until: ReadonlyMap<string, EpochMs>,
): WatermarkState {
  const partitions = new Map(state.partitions);
  for (const [name, activeUntil] of until) {
    const shared = partitions.has(name) ? name : OTHER_PARTITIONS; // M7
    const existing = partitions.get(shared);
    if (existing !== undefined) mergePartition(partitions, shared, { ...existing, activeUntil });
  }
  return { ...state, partitions };
}

/** A receive ended at `now`; `drained` if it returned fewer messages than it asked for (M3). */
export function polled(
  state: WatermarkState,
  { now, drained }: { readonly now: EpochMs; readonly drained: boolean },
): WatermarkState {
  const drainedSince = drained ? (state.drainedSince ?? now) : null;
  return drainedSince === state.drainedSince ? state : { ...state, drainedSince };
}

/** The state of all processes together, as `now` knows it (M1). */
export function joinReports(
  state: WatermarkState,
  reports: readonly PartitionReport[],
  now: EpochMs,
): WatermarkState {
  const partitions = new Map<string, Partition>();
  const fresh = reports.filter(
    ({ polledAt }) => polledAt !== null && msBetween(polledAt, now) < POLL_FRESH_MS,
  );
  for (const report of reports) {
    for (const [name, partition] of report.partitions) mergePartition(partitions, name, partition);
  }
  let drainedSince: EpochMs | null = fresh.length === 0 ? null : epochMs(0);
  for (const report of fresh) {
    if (report.drainedSince === null) drainedSince = null; // One full receive: messages wait.
    if (drainedSince === null || report.drainedSince === null) break;
    drainedSince = epochMs(Math.max(drainedSince, report.drainedSince));
  }
  return { ...state, partitions, drainedSince };
}

/** The state of this process with the partitions of processes that are gone, within M7. */
export function takeOver(state: WatermarkState, gone: readonly PartitionReport[]): WatermarkState {
  if (gone.length === 0) return state;
  const partitions = new Map(state.partitions);
  for (const report of gone) {
    for (const [name, partition] of report.partitions) {
      const isFull = partitions.size >= PARTITIONS_MAX && !partitions.has(name);
      mergePartition(partitions, isFull ? OTHER_PARTITIONS : name, partition);
    }
  }
  return { ...state, partitions };
}

/** The state as of `now`: partitions become idle without an observation (M3). */
export function advance(state: WatermarkState, now: EpochMs): WatermarkState {
  const least = leastOf(state, now);
  if (least === null) return state;
  const reached = subtractMs(least.latest, state.outOfOrderMs);
  if (state.watermark !== null && reached <= state.watermark) return state; // M1
  return { ...state, watermark: reached };
}

/** The partition that holds W back, or null if all are idle. */
export function heldBy(state: WatermarkState, now: EpochMs): string | null {
  return leastOf(state, now)?.name ?? null;
}

/** Whether any partition is active, so that the idle time of others has to be measured. */
export function hasActive(state: WatermarkState, now: EpochMs): boolean {
  return leastOf(state, now) !== null;
}

export function isBelievable(eventTime: EpochMs, now: EpochMs): boolean {
  return eventTime >= EVENT_TIME_MIN && eventTime <= addMs(now, FUTURE_MS_MAX);
}

/** `allowedLatenessMs` null: no record is too late (M2). */
export function laneOf(
  watermark: EpochMs | null,
  eventTime: EpochMs,
  allowedLatenessMs: DurationMs | null = null,
): Lane {
  if (watermark === null || eventTime >= watermark) return "live";
  const isAllowed = allowedLatenessMs === null || watermark - eventTime <= allowedLatenessMs;
  return isAllowed ? "late" : "too-late";
}

/** The recorded decision, or else a new one (M5). */
export function laneFor(
  recorded: LaneDecision | null,
  watermark: EpochMs | null,
  eventTime: EpochMs,
  allowedLatenessMs: DurationMs | null = null,
): LaneDecision {
  return recorded ?? { lane: laneOf(watermark, eventTime, allowedLatenessMs), watermark };
}

/** Makes space for new partitions (M7). */
function dropIdle(
  partitions: Map<string, Partition>,
  context: { readonly now: EpochMs; readonly drainedSince: EpochMs | null },
): void {
  for (const [name, partition] of partitions) {
    if (isIdle(partition, context)) partitions.delete(name);
  }
}

function mergePartition(
  partitions: Map<string, Partition>,
  name: string,
  { latest, activeUntil }: Partition,
): void {
  const existing = partitions.get(name);
  partitions.set(name, {
    latest: Math.max(existing?.latest ?? latest, latest) as EpochMs,
    activeUntil: Math.max(existing?.activeUntil ?? activeUntil, activeUntil) as EpochMs,
  });
}

/** M3 */
function isIdle(
  { activeUntil }: Partition,
  { now, drainedSince }: { readonly now: EpochMs; readonly drainedSince: EpochMs | null },
): boolean {
  if (drainedSince === null || msBetween(drainedSince, now) < IDLE_MS) return false;
  return msBetween(activeUntil, now) >= IDLE_MS;
}

function leastOf(
  { partitions, drainedSince }: WatermarkState,
  now: EpochMs,
): { readonly name: string; readonly latest: EpochMs } | null {
  let least: { name: string; latest: EpochMs } | null = null;
  for (const [name, partition] of partitions) {
    if (isIdle(partition, { now, drainedSince })) continue;
    if (least === null || partition.latest < least.latest) {
      least = { name, latest: partition.latest };
    }
  }
  return least;
}
