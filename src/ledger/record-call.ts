// Record calls: each method of the ledger as data, so that a store needs one entry point: load, run
// the transition, save.

import { assert, unreachable } from "../core/assert.ts";
import { compareSequencers } from "../core/events/sequencer.ts";
import type { DurationMs } from "../core/units.ts";
import type {
  ClaimResult,
  CommitResult,
  DirectResult,
  FailResult,
  ReleaseResult,
  RenewResult,
  ReopenResult,
} from "../ports/ledger.ts";
import type { Fence } from "../ports/record.ts";
import { isLeaseLive, liveObject, liveRecord } from "./record-state.ts";
import type {
  ClaimEvent,
  CommitEvent,
  DirectCommitEvent,
  FailEvent,
} from "./record-transitions.ts";
import {
  stepClaim,
  stepCommit,
  stepCommitDirect,
  stepFail,
  stepRelease,
  stepRenew,
  stepReopen,
} from "./record-transitions.ts";
import type { Transition, TransitionInput } from "./start-attempt.ts";

export type RecordCall =
  | ({ readonly call: "claim" } & ClaimEvent)
  | { readonly call: "renew"; readonly fence: Fence; readonly leaseMs: DurationMs }
  | ({ readonly call: "commit" } & CommitEvent)
  | ({ readonly call: "commit-direct" } & DirectCommitEvent)
  | ({ readonly call: "fail" } & FailEvent)
  | { readonly call: "release"; readonly fence: Fence }
  | { readonly call: "reopen" };

export type RecordResult =
  | ClaimResult
  | RenewResult
  | CommitResult
  | DirectResult
  | FailResult
  | ReleaseResult
  | ReopenResult;

/** Runs the transition of a call and asserts its invariants. */
export function stepCall(input: TransitionInput, call: RecordCall): Transition<RecordResult> {
  const step = runTransition(input, call);
  assertStep(input, call, step);
  return step;
}

/** Whether the note of a call is added: it accompanies what the caller asked for, no refusal. */
export function addsNote({ record, result }: Transition<RecordResult>): boolean {
  return record !== null && result.kind !== "stale";
}

/** Asserts the invariants that hold for every transition. */
function assertStep(
  input: TransitionInput,
  call: RecordCall,
  { result, record, input: saved, object, entries }: Transition<RecordResult>,
): void {
  const { now, expiry } = input;
  const applied = object === null ? null : liveObject(input.object, expiry);
  if (object !== null && applied !== null) {
    const order = compareSequencers(object.sequencer, applied.sequencer);
    assert(order >= 0, "the sequencer of an object never goes back"); // S5 of record-transitions.ts
  }
  if (record === null) {
    assert(entries.length === 0, "a rejected call logs nothing"); // S1 of record-transitions.ts
    return;
  }
  const ends = result.kind !== "stale" || (record.kind === "committed" && record.superseded);
  assert(ends, "a stale event ends its record"); // S8 of record-transitions.ts
  assert(saved !== null, "a record is saved with its input"); // L6 of ledger.ts
  assert(record.attempts >= 0, "attempts are never negative"); // R4 of record-state.ts
  const before = liveRecord(input.record, expiry);
  if (before.kind === "absent") return;
  if (before.kind !== "committed") {
    const same = saved.lane.lane === input.storedInput?.lane.lane;
    assert(same, "a lane is decided once"); // I1 of record-input.ts
  }
  assert(record.fence >= before.fence, "a fence never goes back"); // R2 of record-state.ts
  if (record.fence > before.fence) {
    const isHeld = before.kind === "claimed" && isLeaseLive(before.leaseUntil, now);
    assert(!isHeld, "a live claim is not taken over"); // S2 of record-transitions.ts
  } else if ("fence" in call) {
    assert(call.fence === before.fence, "only the newest fence writes"); // S3 of record-transitions.ts
  }
}

function runTransition(input: TransitionInput, call: RecordCall): Transition<RecordResult> {
  switch (call.call) {
    case "claim":
      return stepClaim(input, call);
    case "renew":
      return stepRenew(input, call);
    case "commit":
      return stepCommit(input, call);
    case "commit-direct":
      return stepCommitDirect(input, call);
    case "fail":
      return stepFail(input, call);
    case "release":
      return stepRelease(input, call);
    case "reopen":
      return stepReopen(input);
    default:
      return unreachable(call);
  }
}
