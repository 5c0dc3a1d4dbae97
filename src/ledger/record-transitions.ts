// Record transitions: the state machine that every ledger store follows, one function per event.
// Stores load a record, run the transition and save its result. A store's fast path must give the
// same answer.
//   S1. A transition that rejects changes nothing: neither record, object nor log. Only a stale
//       event ends its own record (S8).
//   S2. At most one claim of a record is live at any instant.
//   S3. Only the holder of the newest fence renews, commits, fails or releases. Its lease may have
//       expired: as long as no other worker claimed the record, no one else has worked on it.
//   S4. A repeated event with the same fence gets the same answer and changes nothing, so that a
//       caller may retry after a lost response.
//   S5. Effects of an object are applied in the order of sequencers; an older event is stale
//       permanently. An object state that comes back (PUT A, PUT B, PUT A) is processed again; an
//       object that is merely put again is a duplicate, which advances the sequencer.
//   S6. A record is processed in its recorded lane and at its recorded event time. A claim returns
//       both. A direct commit ran with those that its caller decided; if others are recorded by
//       now, it is busy, and its delivery comes back to be claimed.
//   S7. Of a listing and its event, one applies a state (object-order.ts). If the order of an event
//       is unknown, its claim asks the caller to confirm it, and its commit needs the answer. A
//       direct commit has none, so it is busy, and its delivery comes back to be claimed.
//   S8. Every record ends. A stale event is acknowledged and never comes back, so its record ends
//       with it: a released, failed or abandoned one becomes superseded. While a worker holds the
//       claim, the event is busy instead: the worker may crash. A parked record stays, for its dead
//       letter still waits for an operator.

import { unreachable } from "../core/assert.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs } from "../core/units.ts";
import type {
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
  ObjectRef,
  RecordInput,
  RecordState,
} from "../ports/record.ts";
import { appliedObject, type ObjectOrder } from "./object-order.ts";
import { attemptInput } from "./record-input.ts";
import { logEntry } from "./record-log.ts";
import { liveRecord } from "./record-state.ts";
import {
  commonFields,
  nextFence,
  orderOf,
  previousAttempts,
  refusalOf,
  startAttempt,
  type Transition,
  type TransitionInput,
} from "./start-attempt.ts";

const FENCED: Transition<Fenced> = refusalOf({ kind: "fenced" });

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
  const { lane, eventTime } = stored;
  const { order } = start;
  const confirm = order.kind === "unknown" ? { confirm: order.basis } : {}; // S7
  return {
    result: { kind: "claimed", fence, attempt, leaseUntil, lane, eventTime, ...confirm }, // S6
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
  const { key, ref, now, expiry, retentionMs } = input;
  const record = liveRecord(input.record, expiry);
  if (record.kind === "committed" && record.fence === event.fence) {
    return refusalOf({ kind: record.superseded ? "superseded" : "committed" }); // S4
  }
  const held = heldClaim(record, event.fence);
  if (held === null) return FENCED;
  const order = orderOf(input);
  const verdict = verdictOn(order, ref);
  if (verdict === "unconfirmed") return refusalOf({ kind: verdict }); // S7
  const superseded = verdict === "superseded";
  const common = commonFields(input, held, held.fence, held.attempts);
  const { digest, effects } = event;
  const expiresAt = addMs(now, retentionMs);
  const absorbed = order.kind === "applied" ? order.object : null;
  return {
    result: { kind: verdict },
    record: { kind: "committed", ...common, digest, effects, superseded },
    input: input.storedInput,
    object: superseded ? absorbed : appliedObject(ref, order, { key, expiresAt }), // S5
    entries: [logEntry(superseded ? "superseded" : "succeeded", held.fence, now)],
  };
}

function verdictOn(
  order: ObjectOrder,
  ref: ObjectRef | null,
): "committed" | "superseded" | "unconfirmed" {
  const confirmed = ref?.confirmed;
  switch (order.kind) {
    case "older":
    case "applied":
      return "superseded";
    case "unknown":
      if (confirmed?.basis !== order.basis) return "unconfirmed";
      return confirmed.isCurrent ? "committed" : "superseded";
    case "unordered":
    case "same":
    case "newer":
      // The doubt ended since the claim: what was found out about the bucket no longer counts.
      return confirmed?.isCurrent === false ? "unconfirmed" : "committed";
    default:
      return unreachable(order);
  }
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
  const { key, ref, now } = input;
  const { order } = start;
  const { owner, receivedAt, startedAt, digest, effects } = event;
  const stored = attemptInput(start.from, input.storedInput, event.input);
  const { lane, eventTime } = event.input;
  const isOther = stored.lane.lane !== lane.lane || stored.eventTime !== eventTime;
  if (isOther || order.kind === "unknown") {
    return refusalOf({ kind: "busy", until: now, owner }); // S6, S7
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
    object: appliedObject(ref, order, { key, expiresAt }),
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
    return refusalOf({ kind: record.kind, fence, attempts: record.attempts }); // S4
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
    return refusalOf({ kind: "released" });
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
  if (record.kind !== "parked") return refusalOf({ kind: "unchanged" });
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
