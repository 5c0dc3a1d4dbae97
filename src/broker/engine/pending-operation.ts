// Job: one operation somebody waits for.

import type { Outcome } from "../model/fault.ts";
import type { OperationInput, OperationName } from "../model/operations.ts";

export interface PendingOperation {
  readonly name: OperationName;
  readonly input: OperationInput<OperationName>;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (outcome: Outcome<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** A job whose answer is known and waits for the commit. */
export interface Answered {
  readonly job: PendingOperation;
  readonly outcome: Outcome<unknown>;
}
