// Send batch: what SQS and SNS have in common in the entries and responses of a batch.

import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import { type FailedEntry, refusedEntry } from "./sdk-errors.ts";

interface TextAttribute {
  readonly DataType: "String";
  readonly StringValue: string;
}

/** An entry without its body, whose field has another name in each service. */
interface SendEntry {
  readonly Id: string;
  readonly MessageAttributes?: Record<string, TextAttribute>;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

interface SendAnswer {
  readonly Successful?:
    | readonly {
        readonly Id?: string | undefined;
        readonly MessageId?: string | undefined;
        readonly SequenceNumber?: string | undefined;
      }[]
    | undefined;
  readonly Failed?: readonly FailedEntry[] | undefined;
}

const UNANSWERED: SendOutcome = {
  kind: "refused",
  code: "Unanswered",
  message: "the entry is missing in the response",
  retry: "later",
};

export function textAttribute(value: string): TextAttribute {
  return { DataType: "String", StringValue: value };
}

/** The entry of a message; ids start at 0. */
export function sendEntry(message: OutgoingMessage, at: number): SendEntry {
  const { attributes, groupId, dedupId } = message;
  const named = Object.entries(attributes).map(([name, value]) => [name, textAttribute(value)]);
  return {
    Id: String(at),
    ...(named.length > 0 && { MessageAttributes: Object.fromEntries(named) }),
    ...(groupId !== null && { MessageGroupId: groupId }),
    ...(dedupId !== null && { MessageDeduplicationId: dedupId }),
  };
}

/** The outcomes in the order of the `count` entries; ids start at 0. */
export function sendOutcomes(count: number, answer: SendAnswer): SendOutcome[] {
  const outcomes = new Map<string | undefined, SendOutcome>();
  for (const { Id, MessageId = "", SequenceNumber = null } of answer.Successful ?? []) {
    outcomes.set(Id, { kind: "sent", messageId: MessageId, sequenceNumber: SequenceNumber });
  }
  for (const failed of answer.Failed ?? []) outcomes.set(failed.Id, refusedEntry(failed));
  return Array.from({ length: count }, (_, at) => outcomes.get(String(at)) ?? UNANSWERED);
}
