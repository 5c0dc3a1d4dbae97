// Handler errors: the errors by which a handler decides about its retry. The table of error
// classes judges everything else that a handler throws (policy/error-class.ts).

import { type DurationMs, durationMs } from "../../core/units.ts";
import { HANDLER_VERDICT } from "../policy/error-facts.ts";

/** A retry cannot help: the record is dead-lettered immediately. */
export class PermanentError extends Error {
  override readonly name: string = "PermanentError";
  readonly [HANDLER_VERDICT] = "permanent";
  /** A word for `tidegate dlq list --class`. Default: "permanent". */
  readonly errorClass: string;

  constructor(
    message: string,
    options: { readonly class?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.errorClass = options.class ?? "permanent";
  }
}

/**
 * The data may not be processed: the record is dead-lettered immediately with the class
 * `governance`, and neither its dossier nor its dead letter contains the payload. Values of the
 * payload and of the last row are removed from the message.
 */
export class GovernanceError extends PermanentError {
  override readonly name: string = "GovernanceError";

  constructor(message = "refused by governance", options: { readonly cause?: unknown } = {}) {
    super(message, { ...options, class: "governance" });
  }
}

/** Retries the record after `delayMs` instead of the backoff. It counts as an attempt. */
export class RetryLater extends Error {
  override readonly name: string = "RetryLater";
  readonly [HANDLER_VERDICT] = "later";
  readonly delayMs: DurationMs;

  constructor(delayMs: number, message = `asked to be tried again in ${delayMs} ms`) {
    super(message);
    this.delayMs = durationMs(delayMs);
  }
}
