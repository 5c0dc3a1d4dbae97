// Watermark: how far the stream's own time has come, and which records came too late for it.
//   M1. W is the least, over the partitions that are active, of (latest event time - lateness), and
//       it never goes back: not for an old record, a partition that returns, or a restart.
//   M2. A record is late if its time lies before W. One at W or after it is on time, however new.
//   M3. A partition that was silent for IDLE_MS holds nobody up. When all are silent, W stays.
//   M4. An event time more than FUTURE_MS_MAX ahead of our clock is not believed: it moves nothing,
//       so that one wrong clock cannot make everybody else late. Nor does it count as a sign of
//       life: a partition with a clock that stays wrong falls silent and holds nobody up.
//   M5. Lanes depend on the order of arrival, so the decision of the attempt that was committed is
//       kept with the commit, and taken from there ever after, by replays for one.
//   M6. Late is a matter of routing. Nothing is dropped for it.

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
/** Partitions remembered; beyond it, those that were silent for longest are forgotten. */
export const PARTITIONS_MAX = 10_000;

export type Lane = "live" | "late";

/** What was decided about a record, and by which watermark (M5). */
export interface LaneDecision {
  readonly lane: Lane;
  /** Null if nothing had been seen yet. */
  readonly watermark: EpochMs | null;
}

interface Partition {
  readonly latest: EpochMs;
  readonly heardAt: EpochMs;
}

export interface WatermarkState {
  readonly allowedLatenessMs: DurationMs;
  /** Null until something was seen. */
  readonly watermark: EpochMs | null;
  readonly partitions: ReadonlyMap<string, Partition>;
}

export interface EventTimeObservation {
  /** What has a time of its own: a bucket and prefix, a message group, a source. */
  readonly partition: string;
  readonly eventTime: EpochMs;
  readonly now: EpochMs;
}

/** `restored` is the watermark that was kept from before, if there was one. */
export function startWatermark(
  allowedLatenessMs: DurationMs,
  restored: EpochMs | null = null,
): WatermarkState {
  return { allowedLatenessMs, watermark: restored, partitions: new Map() };
}

export function observe(state: WatermarkState, seen: EventTimeObservation): WatermarkState {
  return observeAll(state, [seen]);
}

/** As `observe` for each in turn, at the cost of one. */
export function observeAll(
  state: WatermarkState,
  seen: readonly EventTimeObservation[],
): WatermarkState {
  if (seen.length === 0) return state;
  const partitions = new Map(state.partitions);
  let latestNow = Number.NEGATIVE_INFINITY as EpochMs;
  for (const { partition, eventTime, now } of seen) {
    latestNow = Math.max(latestNow, now) as EpochMs;
    if (!isBelievable(eventTime, now)) continue; // M4
    const known = partitions.get(partition);
    const latest = Math.max(known?.latest ?? eventTime, eventTime) as EpochMs;
    partitions.delete(partition); // Told last, kept last: the map runs from the longest silent on.
    const heardAt = Math.max(known?.heardAt ?? now, now) as EpochMs;
    partitions.set(partition, { latest, heardAt });
  }
  for (const name of partitions.keys()) {
    if (partitions.size <= PARTITIONS_MAX) break;
    partitions.delete(name);
  }
  return advance({ ...state, partitions }, latestNow);
}

/** The state as of `now`: partitions fall silent without anything being seen (M3). */
export function advance(state: WatermarkState, now: EpochMs): WatermarkState {
  const least = leastOf(state, now);
  if (least === null) return state;
  const reached = subtractMs(least.latest, state.allowedLatenessMs);
  if (state.watermark !== null && reached <= state.watermark) return state; // M1
  return { ...state, watermark: reached };
}

/** The partition that W waits for, or null if all are silent. */
export function heldBy(state: WatermarkState, now: EpochMs): string | null {
  return leastOf(state, now)?.name ?? null;
}

export function isBelievable(eventTime: EpochMs, now: EpochMs): boolean {
  return eventTime <= addMs(now, FUTURE_MS_MAX);
}

export function laneOf(watermark: EpochMs | null, eventTime: EpochMs): Lane {
  return watermark !== null && eventTime < watermark ? "late" : "live"; // M2
}

/** What was decided before, or else what is decided now (M5). */
export function laneFor(
  recorded: LaneDecision | null,
  watermark: EpochMs | null,
  eventTime: EpochMs,
): LaneDecision {
  return recorded ?? { lane: laneOf(watermark, eventTime), watermark };
}

/** Whether a window that ends before `end` is complete: whatever comes for it now is late. */
export function windowClosed(watermark: EpochMs | null, end: EpochMs): boolean {
  return watermark !== null && watermark >= end;
}

function leastOf(
  { partitions }: WatermarkState,
  now: EpochMs,
): { readonly name: string; readonly latest: EpochMs } | null {
  let least: { name: string; latest: EpochMs } | null = null;
  for (const [name, { latest, heardAt }] of partitions) {
    if (msBetween(heardAt, now) >= IDLE_MS) continue; // M3
    if (least === null || latest < least.latest) least = { name, latest };
  }
  return least;
}
