// Client context: what the steps of a client share: the connection, random choices and the facts.
//   L1. A handle is used only while its message is certainly still in flight (HANDLE_MARGIN_MS), so
//       that an acknowledged delete or change was certainly carried out.

import type { SeededRandom } from "../../../src/core/seeded-random.ts";
import { askSend, type Facts, type MessageFact } from "../../crash/facts.ts";
import { isContentBased, planOf } from "../../crash/queue-plan.ts";
import type { SqsClient } from "./sqs-client.ts";

const HANDLE_MARGIN_MS = 5_000;
const GROUPS_PER_CLIENT = 3;
/** A receive whose response is lost blocks its groups for a while, so groups rotate. */
const MESSAGES_PER_GROUP_TURN = 1_000;
const RECENT_MAX = 400;

/** A delivery whose handle may still be used. */
export interface Held {
  readonly fact: MessageFact;
  readonly queue: string;
  readonly handle: string;
  /** Receive count of the delivery: a later receive makes this handle outdated. */
  readonly receiveCount: number;
}

/** Shared by the clients of all rounds. */
export interface Shared {
  readonly facts: Facts;
  readonly held: Held[];
  /** Recent FIFO messages, for duplicates. */
  readonly recent: MessageFact[];
  readonly counts: Record<string, number>;
  /** When each queue was last purged. */
  readonly purgedMs: Map<string, number>;
  nextBody: number;
}

export interface ClientContext {
  readonly shared: Shared;
  readonly client: number;
  readonly random: SeededRandom;
  readonly sqs: SqsClient;
  /** A queue's URL by its name. */
  readonly urls: ReadonlyMap<string, string>;
}

export const count = (shared: Shared, what: string, by = 1): void => {
  shared.counts[what] = (shared.counts[what] ?? 0) + by;
};

export const urlOf = (context: ClientContext, queue: string): string =>
  context.urls.get(queue) ?? "";

export function sendInput(context: ClientContext, fact: MessageFact): Record<string, unknown> {
  return {
    QueueUrl: urlOf(context, fact.queue),
    MessageBody: fact.body,
    ...(fact.groupId === null ? {} : { MessageGroupId: fact.groupId }),
    ...(fact.dedupId === null || isContentBased(fact.queue)
      ? {}
      : { MessageDeduplicationId: fact.dedupId }),
  };
}

export function sentAnswer(output: Record<string, unknown>) {
  const { MessageId, SequenceNumber } = output;
  const sequenceNumber = SequenceNumber === undefined ? null : String(SequenceNumber);
  return { messageId: String(MessageId), sequenceNumber };
}

/** Records a new message that is about to be sent. */
export function newMessage(context: ClientContext, queue: string, delayed = false): MessageFact {
  const { shared, random, client } = context;
  const number = shared.nextBody;
  shared.nextBody += 1;
  const { fifo } = planOf(queue);
  const turn = Math.floor(number / MESSAGES_PER_GROUP_TURN);
  const group = random.between(1, GROUPS_PER_CLIENT);
  const groupId = fifo ? `group-${client}-${turn}-${group}` : null;
  const dedupId = fifo ? `dedup-${number}` : null;
  const message = { body: `message-${number}`, queue, groupId, dedupId, client, delayed };
  const fact = askSend(shared.facts, message, Date.now());
  if (fifo) shared.recent.push(fact);
  if (shared.recent.length > RECENT_MAX) shared.recent.shift();
  return fact;
}

/** Removes a random delivery whose handle is certainly valid from the held ones. L1 */
export function takeHeld({ shared, random }: ClientContext): Held | null {
  while (shared.held.length > 0) {
    const index = random.between(0, shared.held.length - 1);
    const [held] = shared.held.splice(index, 1);
    const hidden = held?.fact.hidden;
    if (held === undefined || !hidden || hidden === "unknown") continue;
    if (held.receiveCount !== held.fact.receiveCount) continue;
    if (hidden.minMs - Date.now() > HANDLE_MARGIN_MS) return held;
  }
  return null;
}
