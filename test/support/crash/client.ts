// Client: one loop of random requests, which records each request and its response.
//   L2. A loop ends with its connection. Its pending request stays unknown.
//   L3. Live messages are bounded: above LIVE_MAX a client stops sending and only processes them.

import { purge, removeBatch, sendBatch, startMove } from "../../crash/batch-steps.ts";
import { answerReceive } from "../../crash/deliveries.ts";
import {
  answerDelete,
  answerDuplicate,
  answerSend,
  checkNewSequence,
  type DeliveredCopy,
  liveMessages,
  type MessageFact,
  queueFacts,
} from "../../crash/facts.ts";
import { QUEUES, RECEIVED_FROM, SENT_TO } from "../../crash/queue-plan.ts";
import {
  type ClientContext,
  count,
  newMessage,
  sendInput,
  sentAnswer,
  takeHeld,
  urlOf,
} from "./client-context.ts";
import { UnexpectedResponse } from "./sqs-client.ts";

const LIVE_MAX = 2_500;
/** The long ones outlast any restart, but are short enough for lost receives to end in a run. */
const RECEIVE_SECONDS = [1, 15, 60] as const;
/** No wait, a wait that often ends empty, and a wait that only a crash ends. */
const WAIT_SECONDS = [0, 0, 0, 1, 20] as const;
const DELAY_SECONDS = [1, 40] as const;
const CHANGE_SECONDS = [0, 2, 40] as const;
const CHANGE_SECONDS_HELD = 40;
/** Duplicates are sent only while the five-minute window is certainly open. */
export const DEDUP_WINDOW_SURE_MS = 240_000;

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
  const queue = context.random.pick(SENT_TO)?.name ?? "plain";
  return sendNew(context, newMessage(context, queue));
}

/** To a standard queue: a FIFO queue accepts no per-message delay. */
async function sendDelayed(context: ClientContext): Promise<boolean> {
  const { random, sqs, shared } = context;
  const seconds = random.pick(DELAY_SECONDS) ?? 1;
  const fact = newMessage(context, "plain", true);
  const input = { ...sendInput(context, fact), DelaySeconds: seconds };
  const output = await sqs.call("SendMessage", input);
  if (output === null) return false;
  answerSend(shared.facts, fact, sentAnswer(output));
  if (fact.hidden === "unknown") {
    const [minMs, maxMs] = [fact.sentFromMs + seconds * 1_000, Date.now() + seconds * 1_000];
    fact.hidden = { minMs, maxMs };
  }
  count(shared, "delayed");
  return true;
}

/** Resends a recent message, as a client does after a network error. */
async function sendAgain(context: ClientContext): Promise<boolean> {
  const { shared, random, client } = context;
  const fact = random.pick(shared.recent);
  if (fact === undefined || fact.send === "unknown") return true;
  if (fact.send === "refused-by-crash") {
    if (fact.client !== client) return true; // Another client sends to its group (F4 of facts.ts).
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

const deliveredOf = ({ Body, MessageId, Attributes }: WireMessage): DeliveredCopy => ({
  body: Body,
  messageId: MessageId,
  sequenceNumber: Attributes?.SequenceNumber ?? null,
  receiveCount: Number(Attributes?.ApproximateReceiveCount),
});

async function receive(context: ClientContext): Promise<boolean> {
  const { shared, random, sqs } = context;
  const queue = random.pick(RECEIVED_FROM)?.name ?? "plain";
  const visibilitySeconds = random.pick(RECEIVE_SECONDS) ?? 15;
  const askedMs = Date.now();
  const queueState = queueFacts(shared.facts, queue);
  queueState.openReceives += 1;
  const output = await sqs.call("ReceiveMessage", {
    QueueUrl: urlOf(context, queue),
    MaxNumberOfMessages: random.between(1, 10),
    VisibilityTimeout: visibilitySeconds,
    AttributeNames: ["All"],
    WaitTimeSeconds: random.pick(WAIT_SECONDS) ?? 0,
  });
  if (output === null) return false;
  queueState.openReceives -= 1;
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
  const moved = held.fact.hidden !== "unknown"; // Received again before this response.
  if (!moved) {
    const [minMs, maxMs] = [askedMs + seconds * 1_000, answeredMs + seconds * 1_000];
    held.fact.hidden = seconds === 0 ? null : { minMs, maxMs };
  }
  if (seconds === CHANGE_SECONDS_HELD && !moved) context.shared.held.push(held);
  count(context.shared, "changed");
  return true;
}

/** Changes an attribute and a tag; only the first client does, so that the order is certain. */
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
  const live = liveMessages(shared.facts);
  const roll = random.fraction();
  if (roll < 0.02 && client === 0) return configure;
  if (roll < 0.03 && client === 1) return purge;
  if (roll < 0.04 && client === 2) return startMove;
  if (roll < 0.3 && live < LIVE_MAX) return send; // L3
  if (roll < 0.36 && live < LIVE_MAX) return sendBatch;
  if (roll < 0.4 && live < LIVE_MAX) return sendDelayed;
  if (roll < 0.5) return sendAgain;
  if (roll < 0.65) return receive;
  if (roll < 0.72) return removeBatch;
  return roll < 0.93 ? remove : changeVisibility;
}

/** Sends requests until the connection ends. L2 */
export async function runClient(context: ClientContext): Promise<void> {
  try {
    while (await choose(context)(context)) {
      // Each step returns whether there was a response.
    }
  } catch (error) {
    if (!(error instanceof UnexpectedResponse)) throw error;
    context.shared.facts.violations.push(error.message);
  }
}
