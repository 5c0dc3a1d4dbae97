// Record state: what the ledger remembers of one record and of one object.
//
//   absent ──claim──> claimed ──commit──> committed
//                     │  ^  └───release─> released ──claim──> claimed
//                     │  └──claim after the lease ran out (fence grows)
//                     ├──fail──> failed ──claim──> claimed
//                     └──fail, permanent──> parked ──reopen──> released
//
//   R1. A record is named by scope (pipeline and generation) and key: two pipelines, or a replay
//       and the run it repeats, never meet.
//   R2. Every claim and every direct commit draws a fence above all that the record ever had. A
//       fence is max(former + 1, now), so that fences keep growing even after the ledger has
//       forgotten the record; sinks, which remember longer, may compare them for ever.
//   R3. An expired record is an absent one, whether or not its row is still there.
//   R4. Attempts count claims that were not given back, so that a crash counts like a failure.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { days, hours } from "../core/units.ts";
import type { AbsentRecord, Fence, ObjectState, RecordKey, RecordState } from "../ports/record.ts";

export function asRecordKey(value: string): RecordKey {
  return value as RecordKey;
}

export function fenceOf(value: number): Fence {
  return value as Fence;
}

export const ABSENT: AbsentRecord = { kind: "absent" };

/** The state as of `now`: forgets what has expired (R3). */
export function liveRecord(record: RecordState, now: EpochMs): RecordState {
  return record.kind === "absent" || record.expiresAt > now ? record : ABSENT;
}

/** The object's state as of `now`, or null if there is none or it has expired (R3). */
export function liveObject(object: ObjectState | null, now: EpochMs): ObjectState | null {
  return object !== null && object.expiresAt > now ? object : null;
}

/** The longest lease: SQS hides a message for no longer. */
export const LEASE_MS_MAX: DurationMs = hours(12);

/** Longer than any lease, so that a live claim never expires. */
export const RETENTION_MS_MIN: DurationMs = days(1);

/**
 * Outlives 14 days in a queue, 14 more in a dead-letter queue, and two weeks until somebody
 * redrives it.
 */
export const RETENTION_MS_DEFAULT: DurationMs = days(45);
