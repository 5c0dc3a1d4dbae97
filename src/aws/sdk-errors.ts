// SDK errors: what errors of the AWS SDK mean for sending, receiving and settling. Names identify
// them, because two copies of the SDK in one process have different classes.

import { TidegateError } from "../core/errors.ts";
import { settlementFault } from "../core/settle-fault.ts";
import type { SendOutcome } from "../ports/queue.ts";
import type { SettlementResult } from "../ports/queue-receiver.ts";

/** Transient, even if AWS reports a client fault. */
const THROTTLED = /throttl|toomanyrequests|slowdown|overlimit|requestlimit|serviceunavailable/i;
/** HTTP client errors that a retry can solve. */
const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 429]);

/** The message of the SDK without a region; the error has no name of its own. */
const NO_REGION = "Region is missing";
const MISSING_QUEUE = "QueueDoesNotExist";

export interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly $fault?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** A failed entry of a batch, in SQS and SNS. */
export interface FailedEntry {
  readonly Id?: string | undefined;
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
  readonly SenderFault?: boolean | undefined;
}

/** A failed request: refused if AWS rejected it as wrong, otherwise of unknown outcome. */
export function queueFault(error: unknown, target: string): TidegateError {
  if (error instanceof TidegateError) return error;
  const { name = "Error", message = String(error), $fault, $metadata } = error as SdkError;
  if (message === NO_REGION) {
    const text = `${target}: no AWS region; set AWS_REGION, or name a region`;
    return new TidegateError("TG_CONFIG_INVALID", text, { cause: error });
  }
  const status = $metadata?.httpStatusCode ?? 0;
  const rejected = status >= 400 && status < 500 && !TRANSIENT_STATUS.has(status);
  const wrong = $fault === "client" && rejected && !THROTTLED.test(name);
  const code = wrong ? "TG_QUEUE_REFUSED" : "TG_QUEUE_UNAVAILABLE";
  const isMissing = name === MISSING_QUEUE;
  const text = isMissing ? `queue ${target} does not exist` : `${target}: ${name}: ${message}`;
  return new TidegateError(code, text, { cause: error });
}

/** A failed entry of a batch to send. */
export function refusedEntry(entry: FailedEntry): SendOutcome {
  const { Code: code = "Unknown", Message: message = "", SenderFault: ours = false } = entry;
  const retry = ours && !THROTTLED.test(code) ? "never" : "later";
  return { kind: "refused", code, message, retry };
}

/** The outcomes of a batch to settle, in the order of its `count` entries; ids start at 0. */
export function settlementResults(
  count: number,
  answer: {
    readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
    readonly Failed?: readonly FailedEntry[] | undefined;
  },
): SettlementResult[] {
  const outcomes = new Map<string | undefined, SettlementResult>();
  for (const { Id } of answer.Successful ?? []) outcomes.set(Id, { kind: "done" });
  for (const { Id, Code = "Unknown", Message = "" } of answer.Failed ?? []) {
    outcomes.set(Id, settlementFault(Code, Message));
  }
  const unanswered: SettlementResult = { kind: "failed", reason: "missing in the response" };
  return Array.from({ length: count }, (_, at) => outcomes.get(String(at)) ?? unanswered);
}
