// Retry record: has a record that waits tried now, and says what can be done about any other.
//   T1. A record that failed or was returned waits in its queue until its message is visible again.
//       The ledger has no delay of its own: the next delivery is processed.
//   T2. The embedded cloud shows the message at once. SQS changes the visibility of a message only
//       for the holder of its receipt, which no one else knows, so there the wait ends by itself.
//   T3. A record in progress, a committed and a dead-lettered one are left alone. A claim whose
//       lease is over waits like a failed record.

import type { EpochMs } from "../../core/units.ts";
import { isLeaseLive } from "../../ledger/record-state.ts";
import { type EmbeddedQueues, revealMessage } from "../../run/open/embedded-queues.ts";
import type { EventHistory } from "./event-history.ts";

/** What a retry found or did. */
export type RetryOutcome =
  /** The message is visible now. */
  | { readonly kind: "retried"; readonly queue: string }
  /** The message is visible already, and a consumer will receive it. */
  | { readonly kind: "visible"; readonly queue: string }
  /** On SQS, the wait ends by itself (T2). */
  | { readonly kind: "waits" }
  /** No queue has the message. */
  | { readonly kind: "missing" }
  | { readonly kind: "in-progress"; readonly owner: string; readonly until: EpochMs }
  | { readonly kind: "committed" | "dead-lettered" | "held" };

export async function retryRecord(
  history: EventHistory,
  now: EpochMs,
  /** Null on SQS. */
  findQueues: () => Promise<EmbeddedQueues | null>,
): Promise<RetryOutcome> {
  const { state, heldBy, tooLate, input } = history;
  if (state === "committed") return { kind: "committed" }; // T3
  if (state === "parked") return { kind: tooLate === null ? "dead-lettered" : "held" };
  if (heldBy !== null && isLeaseLive(heldBy.until, now)) return { kind: "in-progress", ...heldBy };
  const embedded = await findQueues();
  if (embedded === null) return { kind: "waits" }; // T2
  const message = await revealMessage(embedded, input.messageId);
  if (message === null) return { kind: "missing" };
  return { kind: message.revealed ? "retried" : "visible", queue: message.queue };
}

/** What happens now, or what to do, as one clause. */
export function retryText(outcome: RetryOutcome, name: string, now: EpochMs): string {
  switch (outcome.kind) {
    case "retried":
      return `its message is visible in ${outcome.queue} again; a running pipeline tries it now`;
    case "visible":
      return `its message is visible in ${outcome.queue} already; is the pipeline running?`;
    case "waits":
      return (
        "the ledger does not delay it, and the next delivery is processed. SQS shows a message " +
        "only to the holder of its receipt, so the wait ends when its visibility timeout does"
      );
    case "missing":
      return "no queue has its message any more; send the event, or upload the object, again";
    case "in-progress": {
      const seconds = Math.max(0, Math.ceil((outcome.until - now) / 1_000));
      return `in progress at ${outcome.owner}, whose lease lasts ${seconds} s more; nothing was changed`;
    }
    case "committed":
      return "committed; nothing to do";
    case "dead-lettered":
      return `dead-lettered; use: tidegate dlq redrive --key ${name}`;
    case "held":
      return `held as too late; use: tidegate late release --key ${name}`;
  }
}
