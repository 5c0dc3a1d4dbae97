// Running a step: the function of the model that a job asks for, with its answer.
//   R1. What meets a damaged object before it has changed anything fails alone: those of its batch
//       go on, and the models, which it has not touched, need not be read anew. Else whoever asks
//       for that object again and again would have everything read again and again.

import { isCorruption } from "../../core/errors.ts";
import type { BrokerState } from "../model/broker-state.ts";
import type { MustWait } from "../model/sqs/receive.ts";
import type { ModelStep } from "../model/step.ts";
import type { Batch } from "./batch.ts";
import type { AnyResult, PendingOperation } from "./pending-operation.ts";
import { S3_STEPS } from "./s3-steps.ts";
import { STEPS } from "./steps.ts";

type AnyStep = (state: BrokerState, step: ModelStep, input: unknown) => AnyResult | MustWait;

/** Null when the job has failed alone, and has been told so (R1). */
export function runStep(
  state: BrokerState,
  batch: Batch,
  job: PendingOperation,
): AnyResult | MustWait | null {
  const changesBefore = batch.changes.length;
  try {
    return (STEPS[job.name] as AnyStep)(state, batch, job.input);
  } catch (error) {
    const untouched = Object.hasOwn(S3_STEPS, job.name) && batch.changes.length === changesBefore;
    if (!untouched || batch.damaged !== null || !isCorruption(error)) throw error;
    job.reject(error); // R1
    return null;
  }
}
