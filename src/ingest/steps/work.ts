// Work: a claimed record on its way through the steps of pipeline.ts. Each step adds what later
// steps need.

import type { EpochMs } from "../../core/units.ts";
import type { Fence } from "../../ports/record.ts";
import type { Span } from "../../ports/telemetry.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Claim } from "../stages/claim.ts";
import type { CommitOutcome } from "../stages/commit.ts";
import type { TimedRecord } from "../stages/event-time.ts";
import type { RecordFailure } from "../stages/fail.ts";
import type { Handled } from "../stages/handle.ts";
import type { RecordOutcome } from "../stages/outcome.ts";
import type { PreparedCommit } from "../stages/prepare.ts";

/** How the steps of a record ended: with its outcome, or with what the page does next. */
export type Ended = RecordOutcome | RecordFailure | HeldBefore;

/** The record is parked because it was too late. */
interface HeldBefore {
  readonly kind: "held";
  readonly fence: Fence;
}

/** A step ends the attempt, or the next step runs. It is synchronous if it has nothing to ask. */
export type Step = (work: RecordWork) => Answer | Promise<Answer>;
export type Answer = Ended | "next";

export interface RecordWork {
  readonly timed: TimedRecord;
  readonly record: TimedRecord["record"];
  readonly inFlight: InFlightDelivery;
  /** Whether the record may be held or sent elsewhere because it is too late. */
  readonly isTooLate: boolean;
  /** With the bucket's answer once the record is confirmed. */
  claim: Claim;
  /** Whether the claim may still be renewed (P5). */
  isRenewed: boolean;
  /** Whether the message may be stored without being handled (P7). */
  mayStore: boolean;
  /** What the handler requested. */
  handled: Extract<Handled, { kind: "handled" | "dropped" }> | null;
  prepared: PreparedCommit | null;
  /** How the ledger, or a failed preparation, answered. */
  committed: CommitOutcome | null;
  /** Set by telemetry while the record is committed. */
  committing: { readonly span: Span; readonly since: EpochMs } | null;
}

export function beginWork(
  timed: TimedRecord,
  claim: Claim,
  isTooLate: boolean,
  inFlight: InFlightDelivery,
): RecordWork {
  return {
    timed,
    record: timed.record,
    inFlight,
    isTooLate,
    claim,
    isRenewed: true,
    mayStore: false,
    handled: null,
    prepared: null,
    committed: null,
    committing: null,
  };
}
