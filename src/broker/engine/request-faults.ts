// Request faults: the one layer around the engine that refuses requests or drops their responses.
// In-process callers use it as a broker, one operation per request. The wire runs whole AWS actions
// through it, because one action may consist of several operations. Faults of single messages
// (duplicate, delay, reorder) belong to the model (message-faults.ts).
//   I1. "unavailable" and "throttle" refuse a request before anything happens.
//   I2. "drop-acknowledgement" runs the request and then drops the response: its changes are
//       durable, and the caller does not learn of them.
//   I3. A request is hit at most once, however many operations it consists of.
//   I4. A request that names no queue, topic or bucket is never hit.
//   I5. In process, a dropped response is a rejection with TG_RESPONSE_DROPPED.

import { TidegateError } from "../../core/errors.ts";
import { type Refusal, refuseWith } from "../../core/result.ts";
import type { Fault } from "../model/fault.ts";
import type { FaultPlan, FaultService, FaultTargetRequest } from "../model/fault-plan.ts";
import type { OperationName, OperationResult } from "../model/operations.ts";
import type { S3Fault } from "../model/s3/s3-fault.ts";
import type { Broker } from "./broker.ts";

export type RefusingFault = "unavailable" | "throttle";

/** How a protocol answers a request that a fault hits. */
export interface FaultAnswers<R> {
  refused(kind: RefusingFault): R;
  dropped(reply: R): R;
}

/** Runs one request under the planned faults (I1, I2, I3). */
export async function runUnderFaults<R>(
  plan: FaultPlan,
  request: FaultTargetRequest,
  run: () => R | Promise<R>,
  answers: FaultAnswers<R>,
): Promise<R> {
  const kind = plan.requestFault(request);
  if (kind === null) return run();
  if (kind === "drop-acknowledgement") return answers.dropped(await run());
  return answers.refused(kind);
}

const UNAVAILABLE = "The service is unavailable: a fault was injected.";

const REFUSALS: Readonly<Record<RefusingFault, Refusal<Fault>>> = {
  unavailable: refuseWith({ name: "ServiceUnavailable", message: UNAVAILABLE }),
  throttle: refuseWith({ name: "Throttled", message: "Rate exceeded." }),
};

const S3_REFUSALS: Readonly<Record<RefusingFault, Refusal<S3Fault>>> = {
  unavailable: refuseWith({ code: "ServiceUnavailable", message: UNAVAILABLE }),
  throttle: refuseWith({ code: "SlowDown", message: "Please reduce your request rate." }),
};

/** The refusal that SQS and SNS answer. */
export function injectedRefusal(kind: RefusingFault): Refusal<Fault> {
  return REFUSALS[kind];
}

/** The refusal that S3 answers. */
export function injectedS3Refusal(kind: RefusingFault): Refusal<S3Fault> {
  return S3_REFUSALS[kind];
}

export function dropResponse(): never {
  throw new TidegateError(
    "TG_RESPONSE_DROPPED",
    "the request succeeded; an injected fault dropped the response",
  );
}

export function isDropped(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_RESPONSE_DROPPED";
}

/** Operations that serve AWS actions of other names: alone, or as a batch. */
const ACTIONS: Partial<Record<OperationName, readonly [single: string, batch: string]>> = {
  send: ["SendMessage", "SendMessageBatch"],
  receive: ["ReceiveMessage", "ReceiveMessage"],
  delete: ["DeleteMessage", "DeleteMessageBatch"],
  changeVisibility: ["ChangeMessageVisibility", "ChangeMessageVisibilityBatch"],
  publish: ["Publish", "PublishBatch"],
  findObject: ["GetObject", "HeadObject"],
};

/** The broker as in-process callers see it: every operation is one request. */
export function createFaultyBroker(broker: Broker): Broker {
  const submit: Broker["submit"] = (name, input, signal) => {
    const run = () => broker.submit(name, input, signal);
    if (!broker.faults.active) return run();
    const request = requestOf(name, (input ?? {}) as Record<string, unknown>);
    if (request === null) return run(); // I4
    return runUnderFaults(broker.faults, request, run, answersOf(request.service));
  };
  // Everything else is read from the broker when it is used.
  return Object.assign(Object.create(broker) as Broker, { submit });
}

function answersOf<K extends OperationName>(
  service: FaultService,
): FaultAnswers<OperationResult<K>> {
  const refusals = service === "bucket" ? S3_REFUSALS : REFUSALS;
  return {
    // Every operation on a bucket is one of S3's, so the kind of fault fits the operation.
    refused: (kind) => refusals[kind] as OperationResult<K>,
    dropped: dropResponse, // I5
  };
}

function requestOf(
  operation: OperationName,
  input: Record<string, unknown>,
): FaultTargetRequest | null {
  const actions = actionsOf(operation, input.batch);
  for (const service of ["queue", "topic", "bucket"] as const) {
    const name = input[service];
    if (typeof name === "string") return { service, name, actions };
  }
  return null;
}

function actionsOf(operation: OperationName, batch: unknown): readonly string[] {
  const names = ACTIONS[operation];
  if (names === undefined) return [`${operation.charAt(0).toUpperCase()}${operation.slice(1)}`];
  if (batch === undefined) return names;
  return [batch === true ? names[1] : names[0]];
}
