// Deliveries: checks each answer to a receive against what was told before.
//   D1. Nothing deleted is delivered, nothing hidden is delivered, nothing unheard of is delivered.
//   D2. A receive count is above every count told before, and by no more than unanswered receives
//       can explain.
//   D3. Inside a group a message is delivered only when every earlier one was deleted, has gone to
//       the dead letters, or came in the same answer before it.

import {
  CLOCK_TOLERANCE_MS,
  type Delivered,
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
  readonly messages: readonly Delivered[];
}

/** Whether `fact`, sent to a queue with dead letters, may have been moved there by now. */
export function mayBeDead(facts: Facts, fact: MessageFact): boolean {
  const { deadLetters } = planOf(fact.queue);
  if (deadLetters === null) return false;
  const { openReceives } = queueFacts(facts, fact.queue);
  return fact.dead || fact.receiveCount + openReceives >= deadLetters.receivesMax;
}

function checkPlace(facts: Facts, fact: MessageFact, queue: string): void {
  if (queue === fact.queue) {
    if (fact.dead) facts.violations.push(`${fact.body}: came back from the dead letters`);
    return;
  }
  const { deadLetters, movesTo } = planOf(fact.queue);
  if (deadLetters?.queue !== queue && movesTo !== queue) {
    facts.violations.push(`${fact.body}: sent to ${fact.queue} and delivered from ${queue}`);
  }
}

function checkDelivery(facts: Facts, answer: ReceiveAnswer, got: Delivered): MessageFact | null {
  const fact = facts.messages.get(got.body);
  if (fact === undefined) {
    facts.violations.push(`${got.body}: delivered from ${answer.queue} but never sent`); // D1
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
  if (!renamed && fact.messageId !== null && fact.messageId !== got.messageId) {
    say(`told as ${fact.messageId} and delivered as ${got.messageId}`);
  }
  checkPlace(facts, fact, answer.queue);
  const { openReceives } = queueFacts(facts, answer.queue);
  const countMax = fact.receiveCount + openReceives + (fact.queue === answer.queue ? 1 : 2);
  const range = `${fact.receiveCount + 1} to ${countMax}`;
  if (got.receiveCount <= fact.receiveCount || got.receiveCount > countMax) {
    say(`receive count ${got.receiveCount} should be ${range}`); // D2
  }
  return fact;
}

/** A message that has just moved was visible to do so; its old deadline is void. */
function queueOf(fact: MessageFact, answer: ReceiveAnswer): "same" | "moved" {
  const { deadLetters, movesTo } = planOf(fact.queue);
  const place = fact.dead ? (deadLetters?.queue ?? movesTo) : fact.queue;
  return place === answer.queue ? "same" : "moved";
}

function checkOrder(facts: Facts, answer: ReceiveAnswer): void {
  const seen = new Set<string>();
  for (const { body } of answer.messages) {
    const fact = facts.messages.get(body);
    const number = fact?.sequenceNumber ?? null;
    seen.add(body);
    if (fact === undefined || number === null || fact.queue !== answer.queue) continue;
    for (const earlier of groupOf(facts, fact)) {
      if (earlier.sequenceNumber === null || earlier.sequenceNumber >= number) continue;
      if (earlier.delete !== "none" || seen.has(earlier.body)) continue;
      if (mayBeDead(facts, earlier)) continue;
      facts.violations.push(`${body}: delivered before ${earlier.body} of its group`); // D3
    }
  }
}

/** Takes the answer to a receive into the facts, and tells the facts of what it delivered. */
export function answerReceive(facts: Facts, answer: ReceiveAnswer): MessageFact[] {
  if (planOf(answer.queue).fifo) checkOrder(facts, answer);
  const taken: MessageFact[] = [];
  for (const got of answer.messages) {
    const fact = checkDelivery(facts, answer, got);
    if (fact === null) continue;
    if (fact.send === "unknown") fact.send = "acked"; // Whoever sees it knows that it was taken.
    if (planOf(fact.queue).movesTo === answer.queue) fact.messageId = got.messageId;
    fact.messageId ??= got.messageId;
    if (answer.queue === fact.queue) fact.sequenceNumber ??= got.sequenceNumber;
    else fact.dead = true;
    fact.receiveCount = Math.max(fact.receiveCount, got.receiveCount);
    fact.hidden = {
      minMs: answer.askedMs + answer.visibilityMs,
      maxMs: answer.answeredMs + answer.visibilityMs,
    };
    taken.push(fact);
  }
  return taken;
}
