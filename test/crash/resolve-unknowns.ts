// Resolve unknowns: after a check, the observation decides facts that were unknown.
//   S1. Only unknown facts are decided by observation; an acknowledged fact never changes.
//   S2. From here on the clients may rely on the observation, because a restart made it durable.

import { type Observation, type Sighting, sightingsOf } from "./check.ts";
import { answerDelete, type Facts, type MessageFact, queueFacts } from "./facts.ts";
import { planOf } from "./queue-plan.ts";

function resolveMessage(facts: Facts, fact: MessageFact, at: Sighting | undefined): void {
  if (at === undefined) {
    if (fact.delete === "unknown") answerDelete(facts, fact);
    else if (fact.send === "unknown") fact.send = "refused-by-crash";
    return;
  }
  const { peeked, queue } = at;
  if (fact.delete === "unknown") fact.delete = "none";
  if (fact.send === "unknown") {
    fact.send = "acked";
    fact.messageId = peeked.messageId;
  }
  if (planOf(fact.queue).movesTo === queue) fact.messageId = peeked.messageId;
  const moved = queue !== fact.queue && !fact.dead;
  const received = peeked.receiveCount > fact.receiveCount;
  fact.dead = queue !== fact.queue;
  fact.receiveCount = Math.max(fact.receiveCount, peeked.receiveCount);
  if (!moved && !received && fact.hidden !== "unknown") return; // S1
  const { dueAt, state } = peeked;
  fact.hidden = state === "visible" ? null : { minMs: dueAt, maxMs: dueAt };
}

/** Adds an observation without violations to the facts. */
export function resolveUnknowns(facts: Facts, observation: Observation): void {
  const sightings = sightingsOf(observation);
  for (const fact of facts.messages.values()) {
    if (fact.delete !== "acked") resolveMessage(facts, fact, sightings.get(fact.body)?.[0]);
  }
  facts.moves.acked = Math.max(facts.moves.acked, observation.moveTasks.length);
  facts.moves.asked = false;
  facts.purging.clear();
  for (const { name, settings } of observation.queues) {
    const queue = queueFacts(facts, name);
    queue.openReceives = 0;
    queue.sequenceFloor = queue.sequenceTop;
    for (const [key, setting] of queue.settings) {
      setting.acked = settings.get(key) ?? setting.acked;
      setting.asked = null;
    }
  }
}
