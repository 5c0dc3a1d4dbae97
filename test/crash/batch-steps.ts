// Batch steps: client steps that concern many messages at once: batches, purges, move tasks.
//   M1. Only one client purges a queue, and no client receives from it.
//   M2. Only one client starts move tasks, because a second one would be rejected.

import {
  type ClientContext,
  count,
  newMessage,
  sendInput,
  sentAnswer,
  takeHeld,
  urlOf,
} from "../support/crash/client-context.ts";
import { UnexpectedResponse } from "../support/crash/sqs-client.ts";
import { answerDelete, answerSend, checkNewSequence, type MessageFact } from "./facts.ts";
import { moveTasksOf } from "./observe.ts";
import { MOVED_FROM, PURGED, planArnOf, planOf, SENT_TO } from "./queue-plan.ts";

const BATCH_MAX = 10;
/** A queue can be purged again after a minute. */
const PURGE_PAUSE_MS = 61_000;
/** Slow enough that crashes interrupt many tasks. */
const MOVES_PER_SECOND = 40;

interface BatchAnswer {
  readonly Successful?: readonly Record<string, unknown>[];
  readonly Failed?: readonly unknown[];
}

/** The results of a batch by id; a rejected entry is as unexpected as a rejected request. */
function entriesOf(output: Record<string, unknown>, size: number) {
  const { Successful = [], Failed = [] } = output as BatchAnswer;
  if (Failed.length > 0 || Successful.length !== size) {
    throw new UnexpectedResponse(`a batch of ${size}: ${JSON.stringify(output)}`);
  }
  return new Map(Successful.map((entry) => [Number(entry.Id), entry]));
}

export async function sendBatch(context: ClientContext): Promise<boolean> {
  const { shared, random, sqs } = context;
  const queue = random.pick(SENT_TO)?.name ?? "plain";
  const size = random.between(2, BATCH_MAX);
  const facts = Array.from({ length: size }, () => newMessage(context, queue));
  const Entries = facts.map((fact, index) => {
    const { QueueUrl: _, ...entry } = sendInput(context, fact);
    return { Id: `${index}`, ...entry };
  });
  const output = await sqs.call("SendMessageBatch", { QueueUrl: urlOf(context, queue), Entries });
  if (output === null) return false;
  const answers = entriesOf(output, size);
  for (const [index, fact] of facts.entries()) {
    answerSend(shared.facts, fact, sentAnswer(answers.get(index) ?? {}));
    checkNewSequence(shared.facts, fact);
  }
  count(shared, "sent in batches", size);
  return true;
}

export async function removeBatch(context: ClientContext): Promise<boolean> {
  const { shared, random, sqs } = context;
  const first = takeHeld(context);
  if (first === null) return true;
  const batch = [first];
  for (let index = random.between(0, BATCH_MAX - 1); index > 0; index -= 1) {
    const held = takeHeld(context);
    if (held?.queue === first.queue) batch.push(held);
    else if (held !== null) shared.held.push(held);
  }
  for (const { fact } of batch) fact.delete = "unknown";
  const Entries = batch.map(({ handle }, index) => ({ Id: `${index}`, ReceiptHandle: handle }));
  const QueueUrl = urlOf(context, first.queue);
  const output = await sqs.call("DeleteMessageBatch", { QueueUrl, Entries });
  if (output === null) return false;
  entriesOf(output, batch.length);
  for (const { fact } of batch) answerDelete(shared.facts, fact);
  count(shared, "deleted in batches", batch.length);
  return true;
}

const factsOf = (context: ClientContext, queue: string): MessageFact[] =>
  [...context.shared.facts.messages.values()].filter((fact) => fact.queue === queue);

/** Earlier messages are gone afterwards; messages sent at the same time may be gone. M1 */
export async function purge(context: ClientContext): Promise<boolean> {
  const { shared, sqs } = context;
  const queue = PURGED.find(
    (name) => Date.now() - (shared.purgedMs.get(name) ?? 0) > PURGE_PAUSE_MS,
  );
  if (queue === undefined) return true;
  const sent = factsOf(context, queue).filter((fact) => fact.delete === "none");
  if (sent.length === 0) return true;
  shared.purgedMs.set(queue, Date.now());
  const certain = sent.filter((fact) => fact.send === "acked");
  for (const fact of sent) fact.delete = "unknown";
  shared.facts.purging.add(queue);
  const output = await sqs.call("PurgeQueue", { QueueUrl: urlOf(context, queue) });
  if (output === null) return false;
  for (const fact of certain) answerDelete(shared.facts, fact);
  shared.facts.purging.delete(queue);
  count(shared, "purged", certain.length);
  return true;
}

/** Starts a move task if none is running. M2 */
export async function startMove(context: ClientContext): Promise<boolean> {
  const { shared, sqs } = context;
  const tasks = await moveTasksOf(sqs);
  if (tasks === null) return false;
  if (tasks.includes("RUNNING")) return true;
  const { moves } = shared.facts;
  moves.asked = true;
  const waiting = factsOf(context, MOVED_FROM).filter((fact) => fact.send === "acked");
  const output = await sqs.call("StartMessageMoveTask", {
    SourceArn: planArnOf(MOVED_FROM),
    DestinationArn: planArnOf(planOf(MOVED_FROM).movesTo ?? ""),
    MaxNumberOfMessagesPerSecond: MOVES_PER_SECOND,
  });
  if (output === null) return false;
  moves.asked = false;
  moves.acked += 1;
  moves.mustMove = new Set(waiting);
  count(shared, "move tasks");
  return true;
}
