// Step telemetry: spans, durations and counts of the steps of a record. It sees every step and
// changes none.
//   T1. The span and the duration of a commit include its preparation: a sink that writes before
//       the ledger's commit is part of it.

import type { Clock } from "../../ports/clock.ts";
import type { ClaimOutcome } from "../stages/claim.ts";
import type { WorkRecord } from "../stages/decode.ts";
import type { RecordOutcome } from "../stages/outcome.ts";
import type { Answer, RecordWork } from "../steps/work.ts";
import { spanEndOf } from "./record-spans.ts";
import type { Tally } from "./tally.ts";

export interface StepTelemetry {
  /** A claim begins; call the result with its outcome. */
  claim(record: WorkRecord): (claimed: ClaimOutcome) => void;
  before(step: string, work: RecordWork): void;
  after(step: string, work: RecordWork, answer: Answer): void;
  /** The attempt of a claimed record is over. */
  ended(work: RecordWork, how: Answer, outcome: RecordOutcome): void;
}

export function createStepTelemetry(
  tally: Pick<Tally, "child" | "stage" | "handled" | "committed">,
  clock: Pick<Clock, "now">,
): StepTelemetry {
  const endCommit = ({ committing, committed }: RecordWork) => {
    if (committing === null || committed === null) return;
    committing.span.end(spanEndOf(committed));
    tally.stage("commit", committing.since);
  };
  return {
    claim(record) {
      const since = clock.now();
      const span = tally.child(record, "claim");
      return (claimed) => {
        span.end(spanEndOf(claimed));
        if (claimed.kind !== "unavailable") tally.stage("claim", since);
      };
    },
    before(step, work) {
      if (step !== "prepare") return; // T1
      work.committing = { since: clock.now(), span: tally.child(work.record, "commit") };
    },
    after(step, work, answer) {
      const { record, inFlight, claim, handled, committed } = work;
      if (step === "handle") tally.stage("handle", claim.startedAt);
      if (step === "prepare" && answer !== "next") endCommit(work);
      if (step !== "commit") return;
      endCommit(work);
      if (committed?.kind !== "committed" || handled?.kind !== "handled") return;
      const since = claim.startedAt;
      tally.committed(record, inFlight, { since, rows: rowsOf(handled), bad: handled.badRows });
    },
    ended({ claim }, how, outcome) {
      if (how === "next" || how.kind !== "exhausted") tally.handled(claim.startedAt, outcome);
    },
  };
}

/** Effects of a record, in memory or staged. */
function rowsOf({ effects, staged }: Extract<RecordWork["handled"], { kind: "handled" }>): number {
  return [...(staged?.counts.values() ?? [])].reduce((sum, count) => sum + count, effects.length);
}
