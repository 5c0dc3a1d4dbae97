// Late step: holds a record that is too late, or sends it elsewhere, by the policy of the pipeline.
// A record whose payload was withheld continues to the handle stage, which dead-letters it again.

import { isWithheldRecord } from "../stages/govern.ts";
import type { LateStage } from "../stages/late.ts";
import type { StopRenewal } from "./stop-renewal.ts";
import type { Step } from "./work.ts";

export function createLateStep(late: Pick<LateStage, "route">, stopRenewal: StopRenewal): Step {
  return (work) => {
    const { record, claim, inFlight, isTooLate } = work;
    if (!isTooLate || isWithheldRecord(record)) return "next";
    const routing = late.route(record, claim, inFlight, () => stopRenewal(work)); // P5
    return routing.then((routed) => routed ?? "next");
  };
}
