// Client: one loop of random requests, which records what it asks for and what it is told.
//   L1. A handle is only used while its message is surely still hidden (HANDLE_MARGIN_MS), so that
//       an acknowledged delete or change has surely been done.
//   L2. A loop ends when its connection does. What it was waiting for stays unknown.
//   L3. Live messages are bounded: above LIVE_MAX a client stops sending and only works them off.

import { answerReceive } from "./deliveries.ts";
import {
  answerDelete,
  answerDuplicate,
  answerSend,
  askSend,
  checkNewSequence,
  type Delivered,
  type Facts,
  type MessageFact,
  queueFacts,
} from "./facts.ts";
import { planOf, QUEUES, SENT_TO } from "./queue-plan.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { type SqsClient, UnexpectedAnswer } from "./sqs-client.ts";

const HANDLE_MARGIN_MS = 5_000;
const LIVE_MAX = 2_500;
const GROUPS_PER_CLIENT = 3;
/** A receive whose answer is lost blocks its groups for a while; so groups are used in turns. */
const MESSAGES_PER_GROUP_TURN = 1_000;
/** The long ones outlast any restart; they are short enough for lost receives to end in a run. */
const RECEIVE_SECONDS = [1, 15, 60] as const;
const CHANGE_SECONDS = [0, 2, 40] as const;
const CHANGE_SECONDS_HELD = 40;
/** Duplicates are only sent while the five-minute window is surely open. */
export const DEDUP_WINDOW_SURE_MS = 240_000;
const RECENT_MAX = 400;

/** A delivery whose handle may still be used. */
export interface Held {
  readonly fact: MessageFact;
  readonly queue: string;
  readonly handle: string;
  /** The count it came with: a message received again has made this handle an old one. */
  readonly receiveCount: number;
}

/** What the clients of all rounds share. */
export interface Shared {
  readonly facts: Facts;
  readonly held: Held[];
  /** FIFO messages of late, for duplicates. */
  readonly recent: MessageFact[];
  readonly counts: Record<string, number>;
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

const count = (shared: Shared, what: string): void => {
  shared.counts[what] = (shared.counts[what] ?? 0) + 1;
};

const urlOf = (context: ClientContext, queue: string): string => context.urls.get(queue) ?? "";

function sendInput(context: ClientContext, fact: MessageFact): Record<string, unknown> {
  return {
    QueueUrl: urlOf(context, fact.queue),
    MessageBody: fact.body,
    ...(fact.groupId === null ? {} : { MessageGroupId: fact.groupId }),
    ...(fact.dedupId === null ? {} : { MessageDeduplicationId: fact.dedupId }),
  };
}

export function sentAnswer(output: Record<string, unknown>) {
  const { MessageId, SequenceNumber } = output;
  const sequenceNumber = SequenceNumber === undefined ? null : String(SequenceNumber);
  return { messageId: String(MessageId), sequenceNumber };
}

async function sendNew(context: ClientContext, fact: MessageFact): Promise<boolean> {
  const output = await context.sqs.call("SendMessage", sendInput(context, fact));
  if (output === null) return false;
  const { facts } = context.shared;
  answerSend(facts, fact, sentAnswer(output));
  checkNewSequence(facts, fact);
  count(context.shared, "sent");
  return true;
}

async function send(context: ClientContext): Promise<boolean> {
  const { shared, random, client } = context;
  const queue = random.pick(SENT_TO)?.name ?? "plain";
  const number = shared.nextBody;
  shared.nextBody += 1;
  const { fifo } = planOf(queue);
  const turn = Math.floor(number / MESSAGES_PER_GROUP_TURN);
  const group = random.between(1, GROUPS_PER_CLIENT);
  const groupId = fifo ? `group-${client}-${turn}-${group}` : null;
  const dedupId = fifo ? `dedup-${number}` : null;
  const message = { body: `message-${number}`, queue, groupId, dedupId, client };
  const fact = askSend(shared.facts, message, Date.now());
  if (fifo) shared.recent.push(fact);
  if (shared.recent.length > RECENT_MAX) shared.recent.shift();
  return sendNew(context, fact);
}

/** Sends a message of late again, as a client would that does not trust its network. */
async function sendAgain(context: ClientContext): Promise<boolean> {
  const { shared, random, client } = context;
  const fact = random.pick(shared.recent);
  if (fact === undefined || fact.send === "unknown") return true;
  if (fact.send === "refused-by-crash") {
    if (fact.client !== client) return true; // Its group is another's to send to.
    fact.send = "unknown";
    fact.sentFromMs = Date.now();
    return sendNew(context, fact);
  }
  if (Date.now() - fact.sentFromMs > DEDUP_WINDOW_SURE_MS) return true;
  const output = await context.sqs.call("SendMessage", sendInput(context, fact));
  if (output === null) return false;
  answerDuplicate(shared.facts, fact, sentAnswer(output));
  count(shared, "duplicates");
  return true;
}

interface WireMessage {
  readonly Body: string;
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Attributes?: Readonly<Record<string, string>>;
}

const deliveredOf = ({ Body, MessageId, Attributes }: WireMessage): Delivered => ({
  body: Body,
  messageId: MessageId,
  sequenceNumber: Attributes?.SequenceNumber ?? null,
  receiveCount: Number(Attributes?.ApproximateReceiveCount),
});

async function receive(context: ClientContext): Promise<boolean> {
  const { shared, random, sqs } = context;
  const queue = random.pick(QUEUES)?.name ?? "plain";
  const visibilitySeconds = random.pick(RECEIVE_SECONDS) ?? 15;
  const askedMs = Date.now();
  const known = queueFacts(shared.facts, queue);
  known.openReceives += 1;
  const output = await sqs.call("ReceiveMessage", {
    QueueUrl: urlOf(context, queue),
    MaxNumberOfMessages: random.between(1, 10),
    VisibilityTimeout: visibilitySeconds,
    AttributeNames: ["All"],
  });
  if (output === null) return false;
  known.openReceives -= 1;
  const messages = (output.Messages ?? []) as readonly WireMessage[];
  const visibilityMs = visibilitySeconds * 1_000;
  const answer = { queue, askedMs, answeredMs: Date.now(), visibilityMs };
  answerReceive(shared.facts, { ...answer, messages: messages.map(deliveredOf) });
  for (const { Body, ReceiptHandle } of messages) {
    const fact = shared.facts.messages.get(Body);
    if (fact !== undefined) {
      const { receiveCount } = fact;
      shared.held.push({ fact, queue, handle: ReceiptHandle, receiveCount });
    }
    count(shared, "received");
  }
  return true;
}

/** Takes a delivery whose handle is surely good, at random, out of the held ones. L1 */
function takeHeld({ shared, random }: ClientContext): Held | null {
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

async function remove(context: ClientContext): Promise<boolean> {
  const held = takeHeld(context);
  if (held === null) return true;
  held.fact.delete = "unknown";
  const output = await context.sqs.call("DeleteMessage", {
    QueueUrl: urlOf(context, held.queue),
    ReceiptHandle: held.handle,
  });
  if (output === null) return false;
  answerDelete(context.shared.facts, held.fact);
  count(context.shared, "deleted");
  return true;
}

async function changeVisibility(context: ClientContext): Promise<boolean> {
  const held = takeHeld(context);
  if (held === null) return true;
  const seconds = context.random.pick(CHANGE_SECONDS) ?? 0;
  const askedMs = Date.now();
  held.fact.hidden = "unknown";
  const output = await context.sqs.call("ChangeMessageVisibility", {
    QueueUrl: urlOf(context, held.queue),
    ReceiptHandle: held.handle,
    VisibilityTimeout: seconds,
  });
  if (output === null) return false;
  const answeredMs = Date.now();
  const moved = held.fact.hidden !== "unknown"; // Received again before this answer was read.
  if (!moved) {
    const [minMs, maxMs] = [askedMs + seconds * 1_000, answeredMs + seconds * 1_000];
    held.fact.hidden = seconds === 0 ? null : { minMs, maxMs };
  }
  if (seconds === CHANGE_SECONDS_HELD && !moved) context.shared.held.push(held);
  count(context.shared, "changed");
  return true;
}

/** Changes an attribute and a tag; done by the first client only, so that their order is known. */
async function configure(context: ClientContext): Promise<boolean> {
  const { shared, random, sqs } = context;
  const queue = random.pick(QUEUES)?.name ?? "plain";
  const value = `${random.between(60_000, 1_209_600)}`;
  const { settings } = queueFacts(shared.facts, queue);
  const QueueUrl = urlOf(context, queue);
  const asked = [
    ["attribute MessageRetentionPeriod", "SetQueueAttributes", "Attributes"],
    ["tag changing", "TagQueue", "Tags"],
  ] as const;
  for (const [key, action, field] of asked) {
    const setting = settings.get(key);
    if (setting === undefined) continue;
    setting.asked = value;
    const name = key.slice(key.indexOf(" ") + 1);
    const output = await sqs.call(action, { QueueUrl, [field]: { [name]: value } });
    if (output === null) return false;
    setting.acked = value;
    setting.asked = null;
    count(shared, "configured");
  }
  return true;
}

function choose(context: ClientContext): (context: ClientContext) => Promise<boolean> {
  const { shared, random, client } = context;
  const live = [...shared.facts.groups.values()].reduce((sum, group) => sum + group.size, 0);
  const roll = random.next();
  if (roll < 0.02 && client === 0) return configure;
  if (roll < 0.4 && live < LIVE_MAX) return send; // L3
  if (roll < 0.5) return sendAgain;
  if (roll < 0.65) return receive;
  return roll < 0.93 ? remove : changeVisibility;
}

/** Works until the connection ends. L2 */
export async function runClient(context: ClientContext): Promise<void> {
  try {
    while (await choose(context)(context)) {
      // Each step says whether there was an answer.
    }
  } catch (error) {
    if (!(error instanceof UnexpectedAnswer)) throw error;
    context.shared.facts.violations.push(error.message);
  }
}
