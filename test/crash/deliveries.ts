// Deliveries: checks each response to a receive against earlier responses.
//   D1. No deleted, in-flight or unknown message is delivered.
//   D2. A receive count is above every earlier count, and by no more than unanswered receives can
//       explain.
//   D3. Inside a group a message is delivered only if every earlier one was deleted, was moved to
//       the dead-letter queue, or came before it in the same response.

import {
  CLOCK_TOLERANCE_MS,
  type DeliveredCopy,
  type Facts,
  groupOf,
  type MessageFact,
  queueFacts,
} from "./facts.ts";
import { planOf } from "./queue-plan.ts";

export interface ReceiveAnswer {
  readonly queue: string;
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly visibilityMs: number;
  readonly messages: readonly DeliveredCopy[];
}

/** Whether `fact` may have been moved to its queue's dead-letter queue by now. */
export function mayBeDead(facts: Facts, fact: MessageFact): boolean {
  const { deadLetters } = planOf(fact.queue);
  if (deadLetters === null) return false;
  const { openReceives } = queueFacts(facts, fact.queue);
  return fact.dead || fact.receiveCount + openReceives >= deadLetters.receivesMax;
}

function checkQueue(facts: Facts, fact: MessageFact, queue: string): void {
  if (queue === fact.queue) {
    if (fact.dead) facts.violations.push(`${fact.body}: came back from the dead-letter queue`);
    return;
  }
  const { deadLetters, movesTo } = planOf(fact.queue);
  if (deadLetters?.queue !== queue && movesTo !== queue) {
    facts.violations.push(`${fact.body}: sent to ${fact.queue} and delivered from ${queue}`);
  }
}

function checkDelivery(
  facts: Facts,
  answer: ReceiveAnswer,
  delivered: DeliveredCopy,
): MessageFact | null {
  const fact = facts.messages.get(delivered.body);
  if (fact === undefined) {
    facts.violations.push(`${delivered.body}: delivered from ${answer.queue} but never sent`); // D1
    return null;
  }
  const say = (text: string): number => facts.violations.push(`${fact.body}: ${text}`);
  if (fact.delete === "acked") say("delivered after its delete was acknowledged"); // D1
  const { hidden } = fact;
  if (hidden !== null && hidden !== "unknown" && queueOf(fact, answer) === "same") {
    const earlyMs = hidden.minMs - CLOCK_TOLERANCE_MS - answer.answeredMs;
    if (earlyMs > 0) say(`delivered ${Math.round(earlyMs)} ms before its visibility ended`); // D1
  }
  const renamed = planOf(fact.queue).movesTo === answer.queue && !fact.dead;
  if (!renamed && fact.messageId !== null && fact.messageId !== delivered.messageId) {
    say(`acknowledged as ${fact.messageId} and delivered as ${delivered.messageId}`);
  }
  checkQueue(facts, fact, answer.queue);
  const { openReceives } = queueFacts(facts, answer.queue);
  const countMax = fact.receiveCount + openReceives + (fact.queue === answer.queue ? 1 : 2);
  const range = `${fact.receiveCount + 1} to ${countMax}`;
  if (delivered.receiveCount <= fact.receiveCount || delivered.receiveCount > countMax) {
    say(`receive count ${delivered.receiveCount} should be ${range}`); // D2
  }
  return fact;
}

/** A message that has just moved was visible; its old deadline no longer applies. */
function queueOf(fact: MessageFact, answer: ReceiveAnswer): "same" | "moved" {
  const { deadLetters, movesTo } = planOf(fact.queue);
  const current = fact.dead ? (deadLetters?.queue ?? movesTo) : fact.queue;
  return current === answer.queue ? "same" : "moved";
}

function checkOrder(facts: Facts, answer: ReceiveAnswer): void {
  const delivered = new Set<string>();
  for (const { body } of answer.messages) {
    const fact = facts.messages.get(body);
    const number = fact?.sequenceNumber ?? null;
    delivered.add(body);
    if (fact === undefined || number === null || fact.queue !== answer.queue) continue;
    for (const earlier of groupOf(facts, fact)) {
      if (earlier.sequenceNumber === null || earlier.sequenceNumber >= number) continue;
      if (earlier.delete !== "none" || delivered.has(earlier.body)) continue;
      if (mayBeDead(facts, earlier)) continue;
      facts.violations.push(`${body}: delivered before ${earlier.body} of its group`); // D3
    }
  }
}

/** Adds a receive's response to the facts, and returns the facts of the delivered messages. */
export function answerReceive(facts: Facts, answer: ReceiveAnswer): MessageFact[] {
  if (planOf(answer.queue).fifo) checkOrder(facts, answer);
  const received: MessageFact[] = [];
  for (const delivered of answer.messages) {
    const fact = checkDelivery(facts, answer, delivered);
    if (fact === null) continue;
    if (fact.send === "unknown") fact.send = "acked"; // A delivery proves that it was accepted.
    if (planOf(fact.queue).movesTo === answer.queue) fact.messageId = delivered.messageId;
    fact.messageId ??= delivered.messageId;
    if (answer.queue === fact.queue) fact.sequenceNumber ??= delivered.sequenceNumber;
    else fact.dead = true;
    fact.receiveCount = Math.max(fact.receiveCount, delivered.receiveCount);
    fact.hidden = {
      minMs: answer.askedMs + answer.visibilityMs,
      maxMs: answer.answeredMs + answer.visibilityMs,
    };
    received.push(fact);
  }
  return received;
}
