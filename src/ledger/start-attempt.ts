// Start attempt: the state from which a claim, a direct commit or a direct failure starts, or the
// reason why the ledger rejects it. The invariants S1 to S8 are those of record-transitions.ts.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs } from "../core/units.ts";
import type { ClaimRefusal } from "../ports/ledger.ts";
import type {
  CommittedRecord,
  Fence,
  LogEntry,
  ObjectRef,
  ObjectState,
  RecordInput,
  RecordKey,
  RecordState,
  StoredRecord,
} from "../ports/record.ts";
import { type ObjectOrder, objectOrder } from "./object-order.ts";
import { logEntry } from "./record-log.ts";
import { fenceOf, isLeaseLive, liveObject, liveRecord } from "./record-state.ts";

/** The input of a transition: the record, its object, and the time. */
export interface TransitionInput {
  readonly key: RecordKey;
  readonly record: RecordState;
  /** The stored input of the record; null if it is absent. */
  readonly storedInput: RecordInput | null;
  /** The object's state, or null; used only if `ref` is given. */
  readonly object: ObjectState | null;
  /** The object of the event, if the call compares or advances it. */
  readonly ref: ObjectRef | null;
  readonly now: EpochMs;
  /** What expires at this instant or earlier has expired; not later than `now`. */
  readonly expiry: EpochMs;
  readonly retentionMs: DurationMs;
}

/** The answer, and what to save; null and an empty log mean no change. */
export interface Transition<R> {
  readonly result: R;
  readonly record: StoredRecord | null;
  /** Saved with the record; null if and only if `record` is. */
  readonly input: RecordInput | null;
  readonly object: ObjectState | null;
  readonly entries: readonly LogEntry[];
}

/** An answer that changes nothing (S1). */
export function refusalOf<R>(result: R): Transition<R> {
  return { result, record: null, input: null, object: null, entries: [] };
}

/** The fence of the next claim (R2). */
export function nextFence(record: RecordState, now: EpochMs): Fence {
  return fenceOf(record.kind === "absent" ? now : Math.max(record.fence + 1, now));
}

/** Where the event belongs among those of its object, as of now. */
export function orderOf({
  key,
  ref,
  object,
  now,
  expiry,
  retentionMs,
}: TransitionInput): ObjectOrder {
  const row = ref === null ? null : liveObject(object, expiry);
  return objectOrder(ref, row, { key, expiresAt: addMs(now, retentionMs) });
}

type Start =
  | { readonly from: RecordState; readonly order: ObjectOrder }
  | { readonly refusal: Transition<ClaimRefusal> };

/** The state from which a claim, direct commit or direct failure starts, or why it is rejected. */
export function startAttempt(input: TransitionInput): Start {
  const { now, expiry } = input;
  const from = liveRecord(input.record, expiry);
  const order = orderOf(input);
  if (from.kind === "committed") return startCommitted(input, from, order);
  // S2 and S8 of record-transitions.ts
  if (from.kind === "claimed" && isLeaseLive(from.leaseUntil, now)) {
    return { refusal: refusalOf({ kind: "busy", until: from.leaseUntil, owner: from.owner }) };
  }
  if (order.kind === "older" || order.kind === "applied") {
    return { refusal: refuseStale(input, from, order) };
  }
  if (from.kind === "parked") {
    const { kind, fence, attempts, failure } = from;
    return { refusal: refusalOf({ kind, fence, attempts, failure }) };
  }
  return { from, order };
}

/** The digest of a record that ended without a complete attempt. */
export const DIGEST_WITHOUT_ATTEMPT = "";

/** An event that came after a newer one of its object; it ends its unfinished record (S8). */
function refuseStale(
  input: TransitionInput,
  from: Exclude<RecordState, CommittedRecord>,
  order: Extract<ObjectOrder, { readonly appliedSequencer: string }>,
): Transition<ClaimRefusal> {
  const { appliedSequencer } = order;
  const object = order.kind === "applied" ? order.object : null; // S7
  const refusal = { ...refusalOf({ kind: "stale", appliedSequencer } as const), object };
  if (from.kind === "absent" || from.kind === "parked") return refusal;
  const fence = nextFence(from, input.now);
  const common = commonFields(input, from, fence, from.attempts);
  const ended = { digest: DIGEST_WITHOUT_ATTEMPT, effects: null, superseded: true };
  return {
    ...refusal,
    record: { kind: "committed", ...common, ...ended },
    input: input.storedInput,
    entries: [logEntry("superseded", fence, input.now)],
  };
}

/** An event whose record is committed: a duplicate, or a state that came back (S5). */
function startCommitted(input: TransitionInput, from: CommittedRecord, order: ObjectOrder): Start {
  const { key, ref, now, expiry, retentionMs } = input;
  const { fence, digest } = from;
  const duplicate: ClaimRefusal = { kind: "duplicate", fence, digest };
  const row = ref === null ? null : liveObject(input.object, expiry);
  // A listed state may come back within the second that is part of its key.
  const mayReturn = ref?.listed === true && (row !== null || from.superseded);
  if (order.kind === "unknown" && mayReturn) return { from, order };
  if (order.kind === "applied")
    return { refusal: { ...refusalOf(duplicate), object: order.object } };
  if (order.kind !== "newer" || row === null || ref?.sequencer == null) {
    return { refusal: refusalOf(duplicate) };
  }
  if (row.appliedKey !== key) return { from, order };
  const expiresAt = addMs(now, retentionMs);
  const advanced = { ...row, sequencer: ref.sequencer, expiresAt };
  return { refusal: { ...refusalOf(duplicate), object: advanced } };
}

/** Attempts before this one; a state that came back starts from zero. */
export function previousAttempts(from: RecordState): number {
  return from.kind === "absent" || from.kind === "committed" ? 0 : from.attempts;
}

export function commonFields(
  input: TransitionInput,
  from: RecordState,
  fence: Fence,
  attempts: number,
) {
  const seenAt = from.kind === "absent" ? input.now : from.seenAt;
  const expiresAt = addMs(input.now, input.retentionMs);
  return { fence, attempts, seenAt, changedAt: input.now, expiresAt };
}
