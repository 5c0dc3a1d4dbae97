// Sending a batch: what entries and answers of SQS and of SNS have in common.

import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import { type FailedEntry, refusedEntry } from "./faults.ts";

interface TextAttribute {
  readonly DataType: "String";
  readonly StringValue: string;
}

/** All of an entry but its body, which each service calls by another name. */
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
  message: "the answer does not mention the entry",
  retry: "later",
};

export function textAttribute(value: string): TextAttribute {
  return { DataType: "String", StringValue: value };
}

/** The entry of a message; ids count from 0. */
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

/** Outcomes in the order of a batch's `count` entries, whose ids count from 0. */
export function sendOutcomes(count: number, answer: SendAnswer): SendOutcome[] {
  const outcomes = new Map<string | undefined, SendOutcome>();
  for (const { Id, MessageId = "", SequenceNumber = null } of answer.Successful ?? []) {
    outcomes.set(Id, { kind: "sent", messageId: MessageId, sequenceNumber: SequenceNumber });
  }
  for (const failed of answer.Failed ?? []) outcomes.set(failed.Id, refusedEntry(failed));
  return Array.from({ length: count }, (_, at) => outcomes.get(String(at)) ?? UNANSWERED);
}
