// Lease terms: how long a lease is safe to use, when to renew it, and for how long.
//   T1. Two clocks measure age, and the greater age counts. The wall clock continues while a
//       machine sleeps, but may be set back. The steady clock is never set, but may stand still.
//   T2. A term starts before its request was sent, so that it never outlives the real lease.
//   T3. Only four fifths of a term count as safe. The rest covers the time between reading the
//       clock and acting.
//   T4. SQS makes a message visible twelve hours after its receive and refuses to hide it longer.
//       Leases end half an hour earlier, and no renewal asks for more than SQS grants.

import { SQS_VISIBILITY_MS_MAX } from "../../core/limits.ts";
import {
  type DurationMs,
  durationMs,
  type EpochMs,
  epochMs,
  hours,
  minutes,
  msBetween,
} from "../../core/units.ts";

/** The same moment on both clocks. */
export interface Moment {
  readonly wall: EpochMs;
  readonly steady: DurationMs;
}

export interface LeaseTerm {
  readonly from: Moment;
  readonly spanMs: DurationMs;
}

/** No lease lasts longer than this after its receive (T4). */
export const RECEIPT_LEASE_MS_MAX: DurationMs = durationMs(hours(11) + minutes(30));
/** Margin below the limit of SQS, for slow clocks and networks. */
const GRANT_MARGIN_MS: DurationMs = minutes(5);

const SAFE_PART = 4 / 5;
const DUE_PART = 1 / 3;
/** From this age, a term is renewed together with one that is due, to share the request. */
const SOON_PART = 1 / 4;
/** Delay before a failed renewal is retried. */
const RETRY_PART = 1 / 20;

/** `since` on both clocks. A `since` in the future counts as now. */
export function momentOf(since: EpochMs, now: Moment): Moment {
  const ago = Math.max(0, msBetween(since, now.wall));
  return { wall: epochMs(now.wall - ago), steady: durationMs(now.steady - ago) };
}

export function ageOf(from: Moment, now: Moment): DurationMs {
  return durationMs(Math.max(now.wall - from.wall, now.steady - from.steady)); // T1
}

/** The moment from which a term is no longer safe. */
export function endOf({ from, spanMs }: LeaseTerm): Moment {
  const safeMs = Math.floor(spanMs * SAFE_PART); // T3
  return { wall: epochMs(from.wall + safeMs), steady: durationMs(from.steady + safeMs) };
}

/** Whether either clock has reached `end`. */
export function hasCome(end: Moment, now: Moment): boolean {
  return now.wall >= end.wall || now.steady >= end.steady; // T1
}

export function isOver(term: LeaseTerm, now: Moment): boolean {
  return hasCome(endOf(term), now);
}

/** Whether to renew the term in a request that is sent anyway. */
export function isSoonDue({ from, spanMs }: LeaseTerm, now: Moment): boolean {
  return ageOf(from, now) >= Math.floor(spanMs * SOON_PART);
}

/** When to renew, on the steady clock. */
export function dueAt({ from, spanMs }: LeaseTerm): DurationMs {
  return durationMs(from.steady + Math.floor(spanMs * DUE_PART));
}

/** When to retry a renewal that failed at `now`, on the steady clock. */
export function retryAt({ spanMs }: LeaseTerm, now: Moment): DurationMs {
  return durationMs(now.steady + Math.max(1, Math.floor(spanMs * RETRY_PART)));
}

/** The latest end of any lease of a delivery that was requested at `since` (T4). */
export function ceilingOf(since: Moment): Moment {
  return {
    wall: epochMs(since.wall + RECEIPT_LEASE_MS_MAX),
    steady: durationMs(since.steady + RECEIPT_LEASE_MS_MAX),
  };
}

/** The span to request for a renewal: the wanted one, or less if SQS grants less (T4). */
export function renewalSpan(since: Moment, now: Moment, wantedMs: DurationMs): DurationMs {
  const grantedMs = SQS_VISIBILITY_MS_MAX - GRANT_MARGIN_MS - ageOf(since, now);
  return durationMs(Math.min(wantedMs, Math.max(0, grantedMs)));
}
