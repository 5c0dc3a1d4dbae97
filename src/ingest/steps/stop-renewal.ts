// Stop renewal step: ends the renewal of a claim before the ledger ends the claim (P5 of
// pipeline.ts).

import type { ClaimStage } from "../stages/claim.ts";
import type { RecordWork } from "./work.ts";

export type StopRenewal = (work: RecordWork) => "next";

export function createStopRenewal(claim: Pick<ClaimStage, "stopRenewal">): StopRenewal {
  return (work) => {
    claim.stopRenewal(work.record, work.claim, work.inFlight);
    work.isRenewed = false;
    return "next";
  };
}
