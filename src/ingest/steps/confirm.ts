// Confirm step: asks the bucket about the order of a record, if only the bucket knows it (P6 of
// pipeline.ts). A bucket that does not answer fails the attempt.

import type { ConfirmStage } from "../stages/confirm.ts";
import type { Step } from "./work.ts";

export function createConfirmStep(confirm: ConfirmStage): Step {
  return (work) => {
    const { record, claim, inFlight } = work;
    if (claim.confirm === undefined) return "next";
    return confirm(record, claim, inFlight).then(
      (confirmed) => {
        const { confirm: _, ...plain } = claim;
        work.claim = confirmed === null ? plain : { ...claim, confirmed };
        return "next";
      },
      (error: unknown) => ({ kind: "failed", stage: "handle", claim, error, secrets: [] }),
    );
  };
}
