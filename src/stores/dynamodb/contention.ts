// Contention: repeats a conditional write that lost to another writer, a bounded number of times.
//   C1. It retries immediately: each further try needs another process to have written the same
//       item in the meantime, so at least one writer makes progress.

import { retryBounded, type Tried } from "../../core/bounded-retry.ts";
import { type ErrorCode, TidegateError } from "../../core/errors.ts";

/** The result of a try whose condition failed. */
export const WRITE_LOST = { kind: "retry", reason: undefined } as const;

export interface ContendedWrite {
  /** What is written, as the error names it. */
  readonly what: string;
  readonly unavailable: ErrorCode;
  readonly triesMax: number;
}

/** Runs `attempt` until it is done; `nth` is 1 for the first try (C1). */
export async function untilWritten<T>(
  { what, unavailable, triesMax }: ContendedWrite,
  attempt: (nth: number) => Promise<Tried<T, undefined>>,
): Promise<T> {
  const tried = await retryBounded({ triesMax }, attempt);
  if (tried.kind === "done") return tried.value;
  const message = `${what} contention: gave up after ${triesMax} write conflicts`;
  throw new TidegateError(unavailable, message);
}
