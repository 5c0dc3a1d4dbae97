// Faults: what errors of the AWS SDK mean to a sender. They are told apart by name, as two copies
// of the SDK in one process would not recognise each other's classes.

import { TidegateError } from "../core/errors.ts";
import type { SendOutcome } from "../ports/queue.ts";

/** Passing, whoever's fault AWS says it is. */
const THROTTLED = /throttl|toomanyrequests|slowdown|overlimit|requestlimit|serviceunavailable/i;

interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly $fault?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** A whole request that failed: refused if AWS said that it is wrong, else of unknown outcome. */
export function sendFault(error: unknown, target: string): TidegateError {
  if (error instanceof TidegateError) return error;
  const { name = "Error", message = String(error), $fault, $metadata } = error as SdkError;
  const status = $metadata?.httpStatusCode ?? 0;
  const answered = status >= 400 && status < 500;
  const wrong = $fault === "client" && answered && !THROTTLED.test(name);
  const code = wrong ? "TG_QUEUE_REFUSED" : "TG_QUEUE_UNAVAILABLE";
  return new TidegateError(code, `${target}: ${name}: ${message}`, { cause: error });
}

/** An entry of a batch that failed. */
export function refusedEntry(entry: {
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
  readonly SenderFault?: boolean | undefined;
}): SendOutcome {
  const { Code: code = "Unknown", Message: message = "", SenderFault: ours = false } = entry;
  const retry = ours && !THROTTLED.test(code) ? "never" : "later";
  return { kind: "refused", code, message, retry };
}

/** For an entry of which the answer says nothing. */
export const UNANSWERED: SendOutcome = {
  kind: "refused",
  code: "Unanswered",
  message: "the answer does not mention the entry",
  retry: "later",
};
