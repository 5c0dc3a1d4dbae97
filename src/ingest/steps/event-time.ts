// Event time step: advances the watermark by the time of a claimed record, and fails the attempt if
// its event time could not be found (T1 of stages/event-time.ts).

import type { WatermarkTracker } from "../running/watermark-tracker.ts";
import type { Step } from "./work.ts";

export function createEventTimeStep(
  watermark: Pick<WatermarkTracker, "observe" | "decided">,
): Step {
  return ({ timed, claim }) => {
    watermark.observe(timed);
    if (timed.failure !== null) {
      return { kind: "failed", stage: "handle", claim, error: timed.failure.error, secrets: [] };
    }
    watermark.decided(claim.input.lane, claim.attempt);
    return "next";
  };
}
