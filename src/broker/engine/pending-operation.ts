// Job: one operation somebody waits for.

import type { Result } from "../../core/result.ts";
import type { Fault } from "../model/fault.ts";
import type { OperationInput, OperationName } from "../model/operations.ts";
import type { S3Fault } from "../model/s3/s3-fault.ts";

export type AnyResult = Result<unknown, Fault | S3Fault>;

export interface PendingOperation {
  readonly name: OperationName;
  readonly input: OperationInput<OperationName>;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (outcome: AnyResult) => void;
  readonly reject: (error: unknown) => void;
}

/** A job whose answer is known and waits for the commit. */
export interface Answered {
  readonly job: PendingOperation;
  readonly outcome: AnyResult;
}
