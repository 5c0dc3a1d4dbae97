// Govern step: has a message judged that may be stored without being handled (P7 of pipeline.ts).
//   G1. A message that is handled is judged by the handle stage, content and rows included.
//   G2. A message whose judging crashed its consumer too often is stored as it is: without a limit
//       it would crash every consumer that receives it.

import type { HandleStage } from "../stages/handle.ts";
import { notHandled } from "./handle.ts";
import type { RecordWork, Step } from "./work.ts";

/** Crashes while a record is governed whose attempts are used up (G2). */
const GOVERN_CRASHES_MAX = 5;

export function createGovernStep(handle: Pick<HandleStage, "govern">, attemptsMax: number): Step {
  return (work) => {
    const { record, claim, inFlight, isTooLate } = work;
    const { failure } = work.timed;
    const isHandled = claim.attempt <= attemptsMax && failure === null && !isTooLate;
    if (isHandled) return "next"; // G1
    if (claim.attempt > attemptsMax + GOVERN_CRASHES_MAX) return mayStore(work); // G2
    const judging = handle.govern(record, inFlight);
    return judging.then((refused) => {
      return refused === null ? mayStore(work) : notHandled(refused, claim);
    });
  };
}

function mayStore(work: RecordWork): "next" {
  work.mayStore = true;
  return "next";
}
