// Outcome: the result of one record, and the settlement of the delivery that contained it.
//   O1. A delivery is deleted when every record of it is done, and not before.
//   O2. If the lease of one record is lost, the whole delivery is left to its new consumer.
//   O3. Otherwise the delivery is returned with the shortest delay of its records. Records that are
//       done are duplicates in the redelivery. A record that never began adds no delay.
//   O4. An outcome names the class of an error only if this attempt failed. A duplicate, a busy
//       record and a record that was returned without having failed name none.

import { unreachable } from "../../core/assert.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Blame, BuiltInClass } from "../policy/error-table.ts";
import type { Settlement } from "./settle.ts";

/** As in the table of error classes (policy/error-table.ts). */
const LEASE_LOST_CLASS: BuiltInClass = "lease-lost";

export type RecordOutcome =
  | {
      readonly kind: "done";
      readonly how:
        | "committed"
        | "superseded"
        | "duplicate"
        | "stale"
        | "dropped"
        | "parked-before"
        /** Too late, and kept in the ledger. */
        | "held"
        /** Too late, and sent to the late queue. */
        | "late-sent"
        /** A duplicate of such a record. */
        | "held-before";
    }
  | { readonly kind: "done"; readonly how: "dead-lettered"; readonly errorClass: string }
  | {
      readonly kind: "later";
      readonly delayMs: DurationMs;
      readonly why: "retry" | "busy" | "unavailable" | "halted" | "not-run";
      /** The dependency that has to recover; feeds the circuit breaker. */
      readonly blames: Blame;
      /** The class of the error that ended this attempt; absent if the attempt did not fail. */
      readonly errorClass?: string;
      /** The masked message of the error, if a dependency has to recover. */
      readonly reason?: string;
    }
  | { readonly kind: "lost" };

/** The `error.type` of an attempt with that outcome; null if the attempt did not fail (O4). */
export function errorTypeOf(outcome: RecordOutcome): string | null {
  switch (outcome.kind) {
    case "done":
      return outcome.how === "dead-lettered" ? outcome.errorClass : null;
    case "later":
      return outcome.errorClass ?? null;
    case "lost":
      return LEASE_LOST_CLASS;
    default:
      return unreachable(outcome);
  }
}

/** Returned before it began, with no delay. */
export const NOT_RUN: RecordOutcome = {
  kind: "later",
  delayMs: durationMs(0),
  why: "not-run",
  blames: "record",
};

/** Another consumer may have the delivery by now: nothing of this attempt counts. */
export const LEASE_LOST: RecordOutcome = { kind: "lost" };

export function settlementOf(outcomes: readonly RecordOutcome[]): Settlement {
  let delayMs: DurationMs | null = null;
  let begun = true;
  for (const outcome of outcomes) {
    if (outcome.kind === "lost") return { kind: "leave" }; // O2
    if (outcome.kind === "done") continue;
    if (outcome.why === "not-run") begun = false;
    else if (delayMs === null || outcome.delayMs < delayMs) delayMs = outcome.delayMs; // O3
  }
  if (delayMs !== null) return { kind: "return", delayMs };
  return begun ? { kind: "delete" } : { kind: "return", delayMs: durationMs(0) }; // O1
}
