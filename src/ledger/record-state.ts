// Record state: what the ledger stores about one record and about one object.
//
//   absent ──claim──> claimed ──commit──> committed
//                     │  ^  └───release─> released ──claim──> claimed
//                     │  └──claim after the lease expired (fence grows)
//                     ├──fail──> failed ──claim──> claimed
//                     └──fail, permanent──> parked ──reopen──> released
//
//   R1. A record is identified by scope (pipeline and generation) and key. Two pipelines, or a
//       replay and its original run, are never deduplicated against each other.
//   R2. Every claim and every direct commit gets a fence above all earlier fences of the record. A
//       fence is max(previous + 1, now), so fences keep growing even after the ledger has dropped
//       the record. Sinks keep rows for longer and can always compare fences.
//   R3. An expired record is an absent one, whether or not its row still exists.
//   R4. Attempts count claims that were not released, so that a crash counts like a failure.
//   R5. A lease that ends later than the longest lease from now is not believed: its holder's clock
//       is wrong, or ours. The fence makes taking it over safe.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs, days, hours } from "../core/units.ts";
import type { AbsentRecord, Fence, ObjectState, RecordKey, RecordState } from "../ports/record.ts";

export function asRecordKey(value: string): RecordKey {
  return value as RecordKey;
}

export function fenceOf(value: number): Fence {
  return value as Fence;
}

export const ABSENT: AbsentRecord = { kind: "absent" };

/** The state as of `expiry`; an expired record is absent (R3). */
export function liveRecord(record: RecordState, expiry: EpochMs): RecordState {
  return record.kind === "absent" || record.expiresAt > expiry ? record : ABSENT;
}

/** The object's state as of `expiry`, or null if it is missing or expired (R3). */
export function liveObject(object: ObjectState | null, expiry: EpochMs): ObjectState | null {
  return object !== null && object.expiresAt > expiry ? object : null;
}

/** Whether a lease holds at `now` (R5). */
export function isLeaseLive(leaseUntil: EpochMs, now: EpochMs): boolean {
  return leaseUntil > now && leaseUntil <= addMs(now, LEASE_MS_MAX);
}

/** The longest lease: SQS does not hide a message for longer. */
export const LEASE_MS_MAX: DurationMs = hours(12);

/** Longer than any lease, so that a live claim never expires. */
export const RETENTION_MS_MIN: DurationMs = days(1);

/**
 * Covers 14 days in a queue, 14 more in a dead-letter queue, and two weeks until an operator
 * redrives the message.
 */
export const RETENTION_MS_DEFAULT: DurationMs = days(45);
