// Record calls: each method of the ledger as data, so that a store needs one way in: load, ask the
// law, save.

import { unreachable } from "../core/assert.ts";
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
import type {
  ClaimEvent,
  CommitEvent,
  DirectCommitEvent,
  FailEvent,
  Transition,
  TransitionInput,
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

/** What the law answers to a call. */
export function stepCall(input: TransitionInput, call: RecordCall): Transition<RecordResult> {
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
