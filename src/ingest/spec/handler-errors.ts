// Handler errors: the two things a handler can say besides "it failed". Anything else that is
// thrown is judged by the table of error classes (policy/error-class.ts).

import { type DurationMs, durationMs } from "../../core/units.ts";
import { HANDLER_VERDICT } from "../policy/error-facts.ts";

/** Trying again cannot help: the record is dead-lettered at once. */
export class PermanentError extends Error {
  override readonly name: string = "PermanentError";
  readonly [HANDLER_VERDICT] = "permanent";
  /** A word for `tidegate dlq list --class`; "permanent" if none is given. */
  readonly errorClass: string;

  constructor(
    message: string,
    options: { readonly class?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.errorClass = options.class ?? "permanent";
  }
}

/** Not now: try again after `delayMs`. It counts as an attempt, but is not backed off. */
export class RetryLater extends Error {
  override readonly name: string = "RetryLater";
  readonly [HANDLER_VERDICT] = "later";
  readonly delayMs: DurationMs;

  constructor(delayMs: number, message = `asked to be tried again in ${delayMs} ms`) {
    super(message);
    this.delayMs = durationMs(delayMs);
  }
}
