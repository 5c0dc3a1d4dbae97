// Record transitions: the state machine that every ledger store follows, one function per event.
// Stores load a record, run the transition and save its result. A store's fast path must give the
// same answer.
//   S1. A transition that rejects changes nothing: neither record, object nor log.
//   S2. At most one claim of a record is live at any instant.
//   S3. Only the holder of the newest fence renews, commits, fails or releases. Its lease may have
//       expired: as long as no other worker claimed the record, no one else has worked on it.
//   S4. A repeated event with the same fence gets the same answer and changes nothing, so that a
//       caller may retry after a lost response.
//   S5. Effects of an object are applied in the order of sequencers; an older event is stale
//       permanently. An object state that comes back (PUT A, PUT B, PUT A) is processed again; an
//       object that is merely put again is a duplicate, which advances the sequencer.
//   S6. A record is processed in its recorded lane. A claim returns that lane. A direct commit ran
//       in the lane that its caller decided; if another one is recorded by now, it is busy, and its
//       delivery comes back to be claimed.

import { compareSequencers } from "../core/events/sequencer.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs } from "../core/units.ts";
import type {
  ClaimRefusal,
  ClaimResult,
  CommitResult,
  DirectResult,
  FailResult,
  Fenced,
  ReleaseResult,
  RenewResult,
  ReopenResult,
} from "../ports/ledger.ts";
import type {
  ClaimedRecord,
  CommittedRecord,
  Failure,
  Fence,
  LogEntry,
  ObjectState,
  RecordInput,
  RecordKey,
  RecordState,
  StoredRecord,
} from "../ports/record.ts";
import { attemptInput } from "./record-input.ts";
import { logEntry } from "./record-log.ts";
import { fenceOf, isLeaseLive, liveObject, liveRecord } from "./record-state.ts";

/** The input of a transition: the record, its object, and the time. */
export interface TransitionInput {
  readonly key: RecordKey;
  readonly record: RecordState;
  /** The stored input of the record; null if it is absent. */
  readonly storedInput: RecordInput | null;
  /** The object's state, or null; used only if `sequencer` is given. */
  readonly object: ObjectState | null;
  readonly sequencer: string | null;
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

const FENCED: Transition<Fenced> = refuse({ kind: "fenced" });

function refuse<R>(result: R): Transition<R> {
  return { result, record: null, input: null, object: null, entries: [] }; // S1
}

/** The fence of the next claim (R2). */
export function nextFence(record: RecordState, now: EpochMs): Fence {
  return fenceOf(record.kind === "absent" ? now : Math.max(record.fence + 1, now));
}

/** The state from which a claim, direct commit or direct failure starts, or why it is rejected. */
function startAttempt(
  input: TransitionInput,
): { from: RecordState } | { refusal: Transition<ClaimRefusal> } {
  const { key, sequencer, now, expiry, retentionMs } = input;
  const from = liveRecord(input.record, expiry);
  const object = sequencer === null ? null : liveObject(input.object, expiry);
  const order = object === null ? 0 : compareSequencers(sequencer ?? "", object.sequencer);
  if (from.kind === "committed") {
    if (object !== null && sequencer !== null && order > 0) {
      if (object.appliedKey !== key) return { from }; // The state came back after another one (S5).
      const advanced = { ...object, sequencer, expiresAt: addMs(now, retentionMs) };
      const { fence, digest } = from;
      const duplicate: ClaimRefusal = { kind: "duplicate", fence, digest };
      return { refusal: { ...refuse(duplicate), object: advanced } };
    }
    const { fence, digest } = from;
    return { refusal: refuse({ kind: "duplicate", fence, digest }) };
  }
  if (object !== null && order < 0) {
    return { refusal: refuse({ kind: "stale", appliedSequencer: object.sequencer }) };
  }
  if (from.kind === "parked") {
    const { kind, fence, attempts, failure } = from;
    return { refusal: refuse({ kind, fence, attempts, failure }) };
  }
  if (from.kind === "claimed" && isLeaseLive(from.leaseUntil, now)) {
    return { refusal: refuse({ kind: "busy", until: from.leaseUntil, owner: from.owner }) }; // S2
  }
  return { from };
}

/** Attempts before this one; a state that came back starts from zero. */
function previousAttempts(from: RecordState): number {
  return from.kind === "absent" || from.kind === "committed" ? 0 : from.attempts;
}

function commonFields(input: TransitionInput, from: RecordState, fence: Fence, attempts: number) {
  const seenAt = from.kind === "absent" ? input.now : from.seenAt;
  const expiresAt = addMs(input.now, input.retentionMs);
  return { fence, attempts, seenAt, changedAt: input.now, expiresAt };
}

export interface ClaimEvent {
  readonly owner: string;
  readonly leaseMs: DurationMs;
  readonly receivedAt: EpochMs;
  readonly input: RecordInput;
}

export function stepClaim(input: TransitionInput, event: ClaimEvent): Transition<ClaimResult> {
  const start = startAttempt(input);
  if ("refusal" in start) return start.refusal;
  const { owner } = event;
  const fence = nextFence(start.from, input.now);
  const attempt = previousAttempts(start.from) + 1; // R4
  const leaseUntil = addMs(input.now, event.leaseMs);
  const common = commonFields(input, start.from, fence, attempt);
  const stored = attemptInput(start.from, input.storedInput, event.input);
  return {
    result: { kind: "claimed", fence, attempt, leaseUntil, lane: stored.lane }, // S6
    record: { kind: "claimed", ...common, owner, leaseUntil },
    input: stored,
    object: null,
    entries: [
      logEntry("received", fence, event.receivedAt),
      logEntry("started", fence, input.now, { owner }),
    ],
  };
}

/** The live claim with that fence, or null (S3). */
function heldClaim(record: RecordState, fence: Fence): ClaimedRecord | null {
  return record.kind === "claimed" && record.fence === fence ? record : null;
}

export function stepRenew(
  input: TransitionInput,
  event: { readonly fence: Fence; readonly leaseMs: DurationMs },
): Transition<RenewResult> {
  const held = heldClaim(liveRecord(input.record, input.expiry), event.fence);
  if (held === null) return FENCED;
  const leaseUntil = addMs(input.now, event.leaseMs);
  const common = commonFields(input, held, held.fence, held.attempts);
  const { kind, owner } = held;
  const record: ClaimedRecord = { kind, ...common, owner, leaseUntil };
  const result = { kind: "renewed", leaseUntil } as const;
  return { result, record, input: input.storedInput, object: null, entries: [] };
}

export interface CommitEvent {
  readonly fence: Fence;
  readonly digest: string;
  readonly effects: string | null;
}

export function stepCommit(input: TransitionInput, event: CommitEvent): Transition<CommitResult> {
  const { key, sequencer, now, expiry, retentionMs } = input;
  const record = liveRecord(input.record, expiry);
  if (record.kind === "committed" && record.fence === event.fence) {
    return refuse({ kind: record.superseded ? "superseded" : "committed" }); // S4
  }
  const held = heldClaim(record, event.fence);
  if (held === null) return FENCED;
  const object = sequencer === null ? null : liveObject(input.object, expiry);
  const superseded =
    object !== null && sequencer !== null && compareSequencers(sequencer, object.sequencer) < 0;
  const common = commonFields(input, held, held.fence, held.attempts);
  const { digest, effects } = event;
  const expiresAt = addMs(now, retentionMs);
  return {
    result: { kind: superseded ? "superseded" : "committed" },
    record: { kind: "committed", ...common, digest, effects, superseded },
    input: input.storedInput,
    // S5
    object: superseded || sequencer === null ? null : { sequencer, appliedKey: key, expiresAt },
    entries: [logEntry(superseded ? "superseded" : "succeeded", held.fence, now)],
  };
}

export interface DirectCommitEvent {
  readonly owner: string;
  readonly receivedAt: EpochMs;
  readonly startedAt: EpochMs;
  readonly input: RecordInput;
  readonly digest: string;
  readonly effects: string | null;
}

/** A complete attempt in one write: the queue's receipt served as the claim. */
export function stepCommitDirect(
  input: TransitionInput,
  event: DirectCommitEvent,
): Transition<DirectResult> {
  const start = startAttempt(input);
  if ("refusal" in start) return start.refusal;
  const { key, sequencer, now } = input;
  const { owner, receivedAt, startedAt, digest, effects } = event;
  const stored = attemptInput(start.from, input.storedInput, event.input);
  if (stored.lane.lane !== event.input.lane.lane) {
    return refuse({ kind: "busy", until: now, owner }); // S6
  }
  const fence = nextFence(start.from, now);
  const common = commonFields(input, start.from, fence, previousAttempts(start.from) + 1);
  const record: CommittedRecord = {
    kind: "committed",
    ...common,
    digest,
    effects,
    superseded: false,
  };
  const { expiresAt } = common;
  return {
    result: { kind: "committed", fence },
    record,
    input: stored,
    object: sequencer === null ? null : { sequencer, appliedKey: key, expiresAt },
    entries: [
      logEntry("received", fence, receivedAt),
      logEntry("started", fence, startedAt, { owner }),
      logEntry("succeeded", fence, now),
    ],
  };
}

export interface FailEvent {
  /** Null on the direct path, where no claim was made. */
  readonly fence: Fence | null;
  readonly owner: string;
  readonly receivedAt: EpochMs;
  readonly input: RecordInput;
  readonly permanent: boolean;
  readonly failure: Failure;
}

export function stepFail(input: TransitionInput, event: FailEvent): Transition<FailResult> {
  const { now } = input;
  const { owner, failure, permanent } = event;
  const kind = permanent ? "parked" : "failed";
  const record = liveRecord(input.record, input.expiry);
  if (event.fence === null) {
    const start = startAttempt(input);
    if ("refusal" in start) return FENCED;
    const fence = nextFence(start.from, now);
    const attempts = previousAttempts(start.from) + 1;
    const common = commonFields(input, start.from, fence, attempts);
    const entries = [
      logEntry("received", fence, event.receivedAt),
      logEntry("started", fence, event.receivedAt, { owner }),
      logEntry("failed", fence, now, { failure }),
    ];
    const saved = { kind, ...common, failure } as const;
    const stored = attemptInput(start.from, input.storedInput, event.input);
    const result = { kind, fence, attempts } as const;
    return { result, record: saved, input: stored, object: null, entries };
  }
  const { fence } = event;
  if ((record.kind === "failed" || record.kind === "parked") && record.fence === fence) {
    return refuse({ kind: record.kind, fence, attempts: record.attempts }); // S4
  }
  const held = heldClaim(record, fence);
  if (held === null) return FENCED;
  const { attempts } = held;
  const saved = { kind, ...commonFields(input, held, fence, attempts), failure } as const;
  const entries = [logEntry("failed", fence, now, { failure })];
  const result = { kind, fence, attempts } as const;
  return { result, record: saved, input: input.storedInput, object: null, entries };
}

/** Undoes a claim, except for its fence. */
export function stepRelease(
  input: TransitionInput,
  event: { readonly fence: Fence },
): Transition<ReleaseResult> {
  const record = liveRecord(input.record, input.expiry);
  if (record.kind === "released" && record.fence === event.fence)
    return refuse({ kind: "released" });
  const held = heldClaim(record, event.fence);
  if (held === null) return FENCED;
  const common = commonFields(input, held, held.fence, held.attempts - 1); // R4
  const entries = [logEntry("released", held.fence, input.now)];
  return {
    result: { kind: "released" },
    record: { kind: "released", ...common },
    input: input.storedInput,
    object: null,
    entries,
  };
}

/** Makes a parked record claimable again, starting from its first attempt. */
export function stepReopen(input: TransitionInput): Transition<ReopenResult> {
  const record = liveRecord(input.record, input.expiry);
  if (record.kind !== "parked") return refuse({ kind: "unchanged" });
  const common = commonFields(input, record, record.fence, 0);
  const entries = [logEntry("reopened", record.fence, input.now)];
  return {
    result: { kind: "reopened" },
    record: { kind: "released", ...common },
    input: input.storedInput,
    object: null,
    entries,
  };
}
