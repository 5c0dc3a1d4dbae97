// Drain everything: at the end of a run, everything that is left is really delivered.
//   E1. Deliveries that are still held are given back by their handles, which came from servers
//       that have been killed since.
//   E2. Each message that remains is delivered, once, or is in flight for a receive whose answer
//       was lost in a crash (and then all of its group wait as well), or became visible too late.

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
/** A receive that only moves dead letters answers with nothing, though more may follow. */
const EMPTY_MAX = 100;

async function giveBack(sqs: SqsClient, shared: Shared, urls: ReadonlyMap<string, string>) {
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

/** Receives and deletes ten; tells how many came. */
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
  const taken = answerReceive(shared.facts, answer);
  const handles = new Map(messages.map(({ Body, ReceiptHandle }) => [Body, ReceiptHandle]));
  for (const fact of taken) {
    await must(sqs.call("DeleteMessage", { QueueUrl, ReceiptHandle: handles.get(fact.body) }));
    answerDelete(shared.facts, fact);
    shared.counts.drained = (shared.counts.drained ?? 0) + 1;
  }
  return messages.length;
}

/** Gives back, receives and deletes all there is, and compares what is left. */
export async function drainEverything(sqs: SqsClient, shared: Shared): Promise<void> {
  const urls = await findQueues(sqs);
  const { facts } = shared;
  await giveBack(sqs, shared, urls);
  const startedMs = Date.now();
  // A queue comes before its dead letters here, as its receives move messages to them.
  for (const { name } of QUEUES.toReversed()) {
    let empty = 0;
    for (let index = 0; index < RECEIVES_MAX && empty < EMPTY_MAX; index += 1) {
      const came = await drainTen(sqs, shared, name, urls.get(name) ?? "");
      empty = came === 0 ? empty + 1 : 0;
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
      facts.violations.push(`${body}: is ${state} in ${name}, but no receive brings it`);
    }
  }
}
