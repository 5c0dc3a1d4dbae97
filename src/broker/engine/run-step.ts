// Run step: runs the model function of one operation.
//   R1. An operation that meets a damaged object before it has changed anything is rejected alone.
//       The rest of its batch continues, and the state, which it has not touched, need not be
//       reloaded. Otherwise every request for that object would cause a reload.

import { isCorruption } from "../../core/errors.ts";
import type { BrokerState } from "../model/broker-state.ts";
import type { MustWait } from "../model/sqs/receive.ts";
import type { ModelStep } from "../model/step.ts";
import type { Batch } from "./batch.ts";
import type { AnyResult, PendingOperation } from "./pending-operation.ts";
import { S3_STEPS } from "./s3-steps.ts";
import { STEPS } from "./steps.ts";

type AnyStep = (state: BrokerState, step: ModelStep, input: unknown) => AnyResult | MustWait;

/** Null if the operation was rejected alone (R1). */
export function runStep(
  state: BrokerState,
  batch: Batch,
  operation: PendingOperation,
): AnyResult | MustWait | null {
  const changesBefore = batch.changes.length;
  try {
    return (STEPS[operation.name] as AnyStep)(state, batch, operation.input);
  } catch (error) {
    const untouched =
      Object.hasOwn(S3_STEPS, operation.name) && batch.changes.length === changesBefore;
    if (!untouched || batch.damaged !== null || !isCorruption(error)) throw error;
    operation.reject(error); // R1
    return null;
  }
}
