// PendingOperation: one submitted operation, and how to answer its caller.

import type { Result } from "../../core/result.ts";
import type { BrokerState } from "../model/broker-state.ts";
import type { Fault } from "../model/fault.ts";
import type { OperationInput, OperationName } from "../model/operations.ts";
import type { S3Fault } from "../model/s3/s3-fault.ts";

export type AnyResult = Result<unknown, Fault | S3Fault>;

export interface PendingOperation {
  readonly name: OperationName;
  readonly input: OperationInput<OperationName>;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (result: AnyResult) => void;
  readonly reject: (error: unknown) => void;
}

/** An operation that has run; its result waits for the commit. */
export interface AnsweredOperation {
  readonly operation: PendingOperation;
  readonly result: AnyResult;
}

/** The operations to reject, and the state they ran on; null if there was none. */
export interface FailedBatch {
  readonly state: BrokerState | null;
  readonly operations: readonly PendingOperation[];
  readonly answered: readonly AnsweredOperation[];
}
