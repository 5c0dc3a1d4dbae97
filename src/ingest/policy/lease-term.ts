// Lease terms: how long a lease may be relied on, when to renew it, and for how long.
//   T1. Age is judged by two clocks, and the older answer counts: the wall clock goes on while a
//       machine sleeps but may be set back, the steady one is never set but may stand still.
//   T2. A term counts from before it was asked for, so that it never outlives the real one.
//   T3. Four fifths of a term may be relied on. The rest is for what happens between looking at the
//       clock and acting.
//   T4. SQS takes a message back twelve hours after its receive, and refuses to hide it beyond
//       that. Leases end half an hour earlier, and no renewal asks for more than SQS grants.

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

/** No lease is kept for longer than this after the receive it came with. T4 */
export const RECEIPT_LEASE_MS_MAX: DurationMs = durationMs(hours(11) + minutes(30));
/** How far below SQS's own bound a renewal stays, for clocks and networks that are slow. */
const GRANT_MARGIN_MS: DurationMs = minutes(5);

const RELIABLE_PART = 4 / 5;
const DUE_PART = 1 / 3;
/** From here on a term is renewed along with one that is due, so that requests are shared. */
const SOON_PART = 1 / 4;
/** After a renewal that failed. */
const RETRY_PART = 1 / 20;

/** The moment that lies as far back as `since` does. A `since` in the future is now. */
export function momentOf(since: EpochMs, now: Moment): Moment {
  const ago = Math.max(0, msBetween(since, now.wall));
  return { wall: epochMs(now.wall - ago), steady: durationMs(now.steady - ago) };
}

export function ageOf(from: Moment, now: Moment): DurationMs {
  return durationMs(Math.max(now.wall - from.wall, now.steady - from.steady)); // T1
}

/** The moment from which on a term may not be relied on. */
export function endOf({ from, spanMs }: LeaseTerm): Moment {
  const reliableMs = Math.floor(spanMs * RELIABLE_PART); // T3
  return { wall: epochMs(from.wall + reliableMs), steady: durationMs(from.steady + reliableMs) };
}

/** Whether `end` has come by either clock. */
export function hasCome(end: Moment, now: Moment): boolean {
  return now.wall >= end.wall || now.steady >= end.steady; // T1
}

export function isOver(term: LeaseTerm, now: Moment): boolean {
  return hasCome(endOf(term), now);
}

/** Whether a renewal now is worth a place in a request that is made anyway. */
export function isSoonDue({ from, spanMs }: LeaseTerm, now: Moment): boolean {
  return ageOf(from, now) >= Math.floor(spanMs * SOON_PART);
}

/** When to renew, on the steady clock. */
export function dueAt({ from, spanMs }: LeaseTerm): DurationMs {
  return durationMs(from.steady + Math.floor(spanMs * DUE_PART));
}

/** When to try again after a renewal failed at `now`, on the steady clock. */
export function retryAt({ spanMs }: LeaseTerm, now: Moment): DurationMs {
  return durationMs(now.steady + Math.max(1, Math.floor(spanMs * RETRY_PART)));
}

/** The end of all leases of a delivery that was asked for at `since`. T4 */
export function ceilingOf(since: Moment): Moment {
  return {
    wall: epochMs(since.wall + RECEIPT_LEASE_MS_MAX),
    steady: durationMs(since.steady + RECEIPT_LEASE_MS_MAX),
  };
}

/** What to ask for when renewing a delivery: what was wanted, or what SQS still grants (T4). */
export function renewalSpan(since: Moment, now: Moment, wantedMs: DurationMs): DurationMs {
  const grantedMs = SQS_VISIBILITY_MS_MAX - GRANT_MARGIN_MS - ageOf(since, now);
  return durationMs(Math.min(wantedMs, Math.max(0, grantedMs)));
}
