// Watermark: how far event time has advanced, and which records are late.
//   M1. W is the minimum of (latest event time - lateness) over the active partitions. It never
//       goes back: not for an old record, a partition that returns, or a restart.
//   M2. A record is late if its event time is before W. A record at W or after it is on time.
//   M3. A partition that is idle for IDLE_MS no longer holds W back. If all are idle, W stays.
//   M4. An event time more than FUTURE_MS_MAX ahead of the consumer's clock is ignored, so that one
//       wrong clock cannot make all other records late. It does not keep its partition active:
//       a partition whose clock stays wrong becomes idle and no longer holds W back.
//   M5. Lanes depend on the order of arrival. So the commit stores the decision of its attempt, and
//       every later pass, such as a replay, reuses it.
//   M6. The lane only affects routing. Late records are never dropped.

import {
  addMs,
  type DurationMs,
  type EpochMs,
  minutes,
  msBetween,
  subtractMs,
} from "../../core/units.ts";

export const IDLE_MS: DurationMs = minutes(15);
export const FUTURE_MS_MAX: DurationMs = minutes(5);
/** Partitions kept; beyond that, those that were idle for longest are dropped. */
export const PARTITIONS_MAX = 10_000;

export type Lane = "live" | "late";

/** The lane of a record, and the watermark that decided it (M5). */
export interface LaneDecision {
  readonly lane: Lane;
  /** Null if no event time had been observed yet. */
  readonly watermark: EpochMs | null;
}

interface Partition {
  readonly latest: EpochMs;
  readonly observedAt: EpochMs;
}

export interface WatermarkState {
  readonly allowedLatenessMs: DurationMs;
  /** Null until the first observation. */
  readonly watermark: EpochMs | null;
  readonly partitions: ReadonlyMap<string, Partition>;
}

export interface EventTimeObservation {
  /** A stream with its own event time: a bucket and prefix, a message group, a source. */
  readonly partition: string;
  readonly eventTime: EpochMs;
  readonly now: EpochMs;
}

/** `restored` is the stored watermark of an earlier run. */
export function startWatermark(
  allowedLatenessMs: DurationMs,
  restored: EpochMs | null = null,
): WatermarkState {
  return { allowedLatenessMs, watermark: restored, partitions: new Map() };
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
  for (const { partition, eventTime, now } of observations) {
    latestNow = Math.max(latestNow, now) as EpochMs;
    if (!isBelievable(eventTime, now)) continue; // M4
    const existing = partitions.get(partition);
    const latest = Math.max(existing?.latest ?? eventTime, eventTime) as EpochMs;
    partitions.delete(partition); // Keeps the map in order, longest idle first.
    const observedAt = Math.max(existing?.observedAt ?? now, now) as EpochMs;
    partitions.set(partition, { latest, observedAt });
  }
  for (const name of partitions.keys()) {
    if (partitions.size <= PARTITIONS_MAX) break;
    partitions.delete(name);
  }
  return advance({ ...state, partitions }, latestNow);
}

/** The state as of `now`: partitions become idle without an observation (M3). */
export function advance(state: WatermarkState, now: EpochMs): WatermarkState {
  const least = leastOf(state, now);
  if (least === null) return state;
  const reached = subtractMs(least.latest, state.allowedLatenessMs);
  if (state.watermark !== null && reached <= state.watermark) return state; // M1
  return { ...state, watermark: reached };
}

/** The partition that holds W back, or null if all are idle. */
export function heldBy(state: WatermarkState, now: EpochMs): string | null {
  return leastOf(state, now)?.name ?? null;
}

export function isBelievable(eventTime: EpochMs, now: EpochMs): boolean {
  return eventTime <= addMs(now, FUTURE_MS_MAX);
}

export function laneOf(watermark: EpochMs | null, eventTime: EpochMs): Lane {
  return watermark !== null && eventTime < watermark ? "late" : "live"; // M2
}

/** The recorded decision, or else a new one (M5). */
export function laneFor(
  recorded: LaneDecision | null,
  watermark: EpochMs | null,
  eventTime: EpochMs,
): LaneDecision {
  return recorded ?? { lane: laneOf(watermark, eventTime), watermark };
}

/** Whether a window that ends before `end` is complete: any further record of it is late. */
export function windowClosed(watermark: EpochMs | null, end: EpochMs): boolean {
  return watermark !== null && watermark >= end;
}

function leastOf(
  { partitions }: WatermarkState,
  now: EpochMs,
): { readonly name: string; readonly latest: EpochMs } | null {
  let least: { name: string; latest: EpochMs } | null = null;
  for (const [name, { latest, observedAt }] of partitions) {
    if (msBetween(observedAt, now) >= IDLE_MS) continue; // M3
    if (least === null || latest < least.latest) least = { name, latest };
  }
  return least;
}
