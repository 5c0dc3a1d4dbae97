// Disturbance: faults that were asked for, around a request rather than within it. Those that
// concern messages (duplicates, order, delay) are the model's.
//   I1. "unavailable" and "throttle" refuse before anything has happened.
//   I2. "drop-acknowledgement" lets the request run to its end and then says nothing: what it did
//       is durable, and the caller does not hear of it.

import { TidegateError } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";
import { type Fault, refuse } from "../model/fault.ts";
import type { FaultPlan, FaultService, RequestFaultKind } from "../model/fault-plan.ts";

/** The request that faults may hit. */
export interface FaultTargetRequest {
  readonly service: FaultService;
  readonly name: string;
  /** AWS's names for what is asked; several where they can not be told apart. */
  readonly actions: readonly string[];
}

/** Runs what a request asks for, unless a fault comes before it (I1) or after it (I2). */
export async function injectFaults<T>(
  faults: FaultPlan,
  aim: FaultTargetRequest,
  run: () => Promise<Result<T, Fault>>,
): Promise<Result<T, Fault>> {
  const refused = refusalFor(faults, aim);
  if (refused !== null) return refused;
  const dropped = fires(faults, "drop-acknowledgement", aim);
  const outcome = await run();
  if (dropped) throw answerDropped();
  return outcome;
}

/** The refusal that a fault answers with before anything has happened (I1), or null. */
export function refusalFor(faults: FaultPlan, aim: FaultTargetRequest) {
  if (fires(faults, "unavailable", aim)) {
    return refuse("ServiceUnavailable", "The service is unavailable, as a fault was asked for.");
  }
  if (fires(faults, "throttle", aim)) return refuse("Throttled", "Rate exceeded.");
  return null;
}

export function fires(faults: FaultPlan, kind: RequestFaultKind, aim: FaultTargetRequest): boolean {
  return faults.fires(kind, aim.service, aim.name, aim.actions) !== null;
}

function answerDropped(): TidegateError {
  return new TidegateError("TG_RESPONSE_DROPPED", "The answer was dropped, as a fault asked for.");
}

export function isDropped(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_RESPONSE_DROPPED";
}
