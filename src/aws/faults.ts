// Faults: what errors of the AWS SDK mean to whoever sends, receives or settles. They are told
// apart by name, as two copies of the SDK in one process would not know each other's classes.

import { TidegateError } from "../core/errors.ts";
import { settlementFault } from "../core/settle-fault.ts";
import type { SendOutcome } from "../ports/queue.ts";
import type { SettlementResult } from "../ports/queue-receiver.ts";

/** Passing, whoever's fault AWS says it is. */
const THROTTLED = /throttl|toomanyrequests|slowdown|overlimit|requestlimit|serviceunavailable/i;
/** Of the client errors of HTTP, those that say "not now" and not "not ever". */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429]);

/** What the SDK says, for want of a name, when it was told of no region. */
const NO_REGION = "Region is missing";

export interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly $fault?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** An entry of a batch that failed, as all batches of SQS and SNS tell it. */
export interface FailedEntry {
  readonly Id?: string | undefined;
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
  readonly SenderFault?: boolean | undefined;
}

/** A whole request that failed: refused if AWS said that it is wrong, else of unknown outcome. */
export function queueFault(error: unknown, target: string): TidegateError {
  if (error instanceof TidegateError) return error;
  const { name = "Error", message = String(error), $fault, $metadata } = error as SdkError;
  if (message === NO_REGION) {
    const told = `${target}: no AWS region is known; give --region, or set AWS_REGION`;
    return new TidegateError("TG_CONFIG_INVALID", told, { cause: error });
  }
  const status = $metadata?.httpStatusCode ?? 0;
  const answered = status >= 400 && status < 500 && !PASSING_STATUS.has(status);
  const wrong = $fault === "client" && answered && !THROTTLED.test(name);
  const code = wrong ? "TG_QUEUE_REFUSED" : "TG_QUEUE_UNAVAILABLE";
  return new TidegateError(code, `${target}: ${name}: ${message}`, { cause: error });
}

/** An entry of a batch to send that failed. */
export function refusedEntry(entry: FailedEntry): SendOutcome {
  const { Code: code = "Unknown", Message: message = "", SenderFault: ours = false } = entry;
  const retry = ours && !THROTTLED.test(code) ? "never" : "later";
  return { kind: "refused", code, message, retry };
}

/** Outcomes of a batch to settle, in the order of its `count` entries, whose ids count from 0. */
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
  const unanswered: SettlementResult = { kind: "failed", reason: "the answer does not mention it" };
  return Array.from({ length: count }, (_, at) => outcomes.get(String(at)) ?? unanswered);
}
