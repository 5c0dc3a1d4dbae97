// Steps of a client that concern many messages at once: batches, purges, move tasks.
//   M1. A queue is purged by one client only, and nobody receives from it.
//   M2. Move tasks are started by one client only, since a second one would be refused.

import {
  type ClientContext,
  count,
  newMessage,
  sendInput,
  sentAnswer,
  takeHeld,
  urlOf,
} from "../support/crash/client-context.ts";
import { UnexpectedAnswer } from "../support/crash/sqs-client.ts";
import { answerDelete, answerSend, checkNewSequence, type MessageFact } from "./facts.ts";
import { moveTasksOf } from "./observe.ts";
import { arnOf, MOVED_FROM, PURGED, planOf, SENT_TO } from "./queue-plan.ts";

const BATCH_MAX = 10;
/** A queue can be purged again after a minute. */
const PURGE_PAUSE_MS = 61_000;
/** Slow enough for many a task to be interrupted by a crash. */
const MOVES_PER_SECOND = 40;

interface BatchAnswer {
  readonly Successful?: readonly Record<string, unknown>[];
  readonly Failed?: readonly unknown[];
}

/** The answers of a batch by their ids; a refused entry is as unexpected as a refused request. */
function entriesOf(output: Record<string, unknown>, size: number) {
  const { Successful = [], Failed = [] } = output as BatchAnswer;
  if (Failed.length > 0 || Successful.length !== size) {
    throw new UnexpectedAnswer(`a batch of ${size}: ${JSON.stringify(output)}`);
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
  const taken = [first];
  for (let index = random.between(0, BATCH_MAX - 1); index > 0; index -= 1) {
    const held = takeHeld(context);
    if (held?.queue === first.queue) taken.push(held);
    else if (held !== null) shared.held.push(held);
  }
  for (const { fact } of taken) fact.delete = "unknown";
  const Entries = taken.map(({ handle }, index) => ({ Id: `${index}`, ReceiptHandle: handle }));
  const QueueUrl = urlOf(context, first.queue);
  const output = await sqs.call("DeleteMessageBatch", { QueueUrl, Entries });
  if (output === null) return false;
  entriesOf(output, taken.length);
  for (const { fact } of taken) answerDelete(shared.facts, fact);
  count(shared, "deleted in batches", taken.length);
  return true;
}

const factsOf = (context: ClientContext, queue: string): MessageFact[] =>
  [...context.shared.facts.messages.values()].filter((fact) => fact.queue === queue);

/** What was sent before is gone; what is being sent meanwhile may be gone. M1 */
export async function purge(context: ClientContext): Promise<boolean> {
  const { shared, sqs } = context;
  const queue = PURGED.find(
    (name) => Date.now() - (shared.purgedMs.get(name) ?? 0) > PURGE_PAUSE_MS,
  );
  if (queue === undefined) return true;
  const sent = factsOf(context, queue).filter((fact) => fact.delete === "none");
  if (sent.length === 0) return true;
  shared.purgedMs.set(queue, Date.now());
  const surely = sent.filter((fact) => fact.send === "acked");
  for (const fact of sent) fact.delete = "unknown";
  shared.facts.purging.add(queue);
  const output = await sqs.call("PurgeQueue", { QueueUrl: urlOf(context, queue) });
  if (output === null) return false;
  for (const fact of surely) answerDelete(shared.facts, fact);
  shared.facts.purging.delete(queue);
  count(shared, "purged", surely.length);
  return true;
}

/** Starts a move task if none runs. M2 */
export async function startMove(context: ClientContext): Promise<boolean> {
  const { shared, sqs } = context;
  const tasks = await moveTasksOf(sqs);
  if (tasks === null) return false;
  if (tasks.includes("RUNNING")) return true;
  const { moves } = shared.facts;
  moves.asked = true;
  const waiting = factsOf(context, MOVED_FROM).filter((fact) => fact.send === "acked");
  const output = await sqs.call("StartMessageMoveTask", {
    SourceArn: arnOf(MOVED_FROM),
    DestinationArn: arnOf(planOf(MOVED_FROM).movesTo ?? ""),
    MaxNumberOfMessagesPerSecond: MOVES_PER_SECOND,
  });
  if (output === null) return false;
  moves.asked = false;
  moves.acked += 1;
  moves.mustMove = new Set(waiting);
  count(shared, "move tasks");
  return true;
}
