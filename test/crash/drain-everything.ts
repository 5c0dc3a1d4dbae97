// Drain everything: at the end of a run, every remaining message is delivered.
//   E1. Held deliveries are returned with their receipt handles, which came from servers that have
//       been killed since.
//   E2. Each remaining message is delivered once. Exceptions: it is in flight for a receive whose
//       response was lost in a crash (then its whole group waits), or it became visible too late.

import type { Shared } from "../support/crash/client-context.ts";
import { must, type SqsClient } from "../support/crash/sqs-client.ts";
import { checkObservation, type Peeked } from "./check.ts";
import { answerReceive } from "./deliveries.ts";
import { answerDelete } from "./facts.ts";
import { findQueues, observe } from "./observe.ts";
import { QUEUES } from "./queue-plan.ts";

const HANDLE_MARGIN_MS = 5_000;
const RECEIVES_MAX = 20_000;
const VISIBILITY_SECONDS = 900;
const BATCH = 10;
/** A receive that only moves dead letters returns nothing, although more may follow. */
const EMPTY_MAX = 100;

async function returnHeld(sqs: SqsClient, shared: Shared, urls: ReadonlyMap<string, string>) {
  for (const { fact, queue, handle, receiveCount } of shared.held) {
    const { hidden } = fact;
    if (!hidden || hidden === "unknown" || fact.delete === "acked") continue;
    if (receiveCount !== fact.receiveCount) continue;
    if (hidden.minMs - Date.now() < HANDLE_MARGIN_MS) continue;
    const input = { QueueUrl: urls.get(queue), ReceiptHandle: handle, VisibilityTimeout: 0 };
    await must(sqs.call("ChangeMessageVisibility", input)); // E1
    fact.hidden = null;
  }
  shared.held.length = 0;
}

interface WireMessage {
  readonly Body: string;
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Attributes?: Readonly<Record<string, string>>;
}

/** Receives and deletes ten messages; returns how many came. */
async function drainTen(sqs: SqsClient, shared: Shared, queue: string, QueueUrl: string) {
  const askedMs = Date.now();
  const output = await must(
    sqs.call("ReceiveMessage", {
      QueueUrl,
      MaxNumberOfMessages: BATCH,
      VisibilityTimeout: VISIBILITY_SECONDS,
      AttributeNames: ["All"],
    }),
  );
  const messages = (output.Messages ?? []) as readonly WireMessage[];
  const delivered = messages.map(({ Body, MessageId, Attributes }) => ({
    body: Body,
    messageId: MessageId,
    sequenceNumber: Attributes?.SequenceNumber ?? null,
    receiveCount: Number(Attributes?.ApproximateReceiveCount),
  }));
  const visibilityMs = VISIBILITY_SECONDS * 1_000;
  const answer = { queue, askedMs, answeredMs: Date.now(), visibilityMs, messages: delivered };
  const received = answerReceive(shared.facts, answer);
  const handles = new Map(messages.map(({ Body, ReceiptHandle }) => [Body, ReceiptHandle]));
  for (const fact of received) {
    await must(sqs.call("DeleteMessage", { QueueUrl, ReceiptHandle: handles.get(fact.body) }));
    answerDelete(shared.facts, fact);
    shared.counts.drained = (shared.counts.drained ?? 0) + 1;
  }
  return messages.length;
}

/** Returns held deliveries, receives and deletes everything, and checks what remains. */
export async function drainEverything(sqs: SqsClient, shared: Shared): Promise<void> {
  const urls = await findQueues(sqs);
  const { facts } = shared;
  await returnHeld(sqs, shared, urls);
  const startedMs = Date.now();
  // A queue comes before its dead-letter queue, because its receives move messages there.
  for (const { name } of QUEUES.toReversed()) {
    let empty = 0;
    for (let index = 0; index < RECEIVES_MAX && empty < EMPTY_MAX; index += 1) {
      const count = await drainTen(sqs, shared, name, urls.get(name) ?? "");
      empty = count === 0 ? empty + 1 : 0;
    }
  }
  const observation = await observe(sqs);
  facts.violations.push(...checkObservation(facts, observation));
  const waits = ({ body, state }: Peeked): boolean => {
    const hidden = facts.messages.get(body)?.hidden ?? null;
    return (
      state !== "visible" || (hidden !== null && hidden !== "unknown" && hidden.maxMs > startedMs)
    );
  };
  for (const { name, messages } of observation.queues) {
    const waiting = messages.filter(waits);
    const groups = new Set(waiting.map(({ groupId }) => groupId));
    for (const peeked of messages) {
      const { body, groupId, state } = peeked;
      if (waits(peeked) || (groupId !== null && groups.has(groupId))) continue; // E2
      facts.violations.push(`${body}: is ${state} in ${name}, but no receive returns it`);
    }
  }
}
