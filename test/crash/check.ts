// Check: compares what a restarted server holds with the responses that its clients got.
//   K1. Nothing acknowledged is lost: a message that was sent and not deleted is there exactly
//       once, in its queue or in that queue's dead-letter queue.
//   K2. No deleted message came back, and every message was sent by a client.
//   K3. Receive counts do not decrease, and unanswered receives must explain every increase.
//   K4. A message whose visibility timeout has not ended is in flight until the acknowledged
//       instant.
//   K5. The messages of a group are in the order of their sequence numbers.
//   K6. Attributes and tags are as acknowledged, and the counts match the messages.
//   K7. An unanswered request may have been carried out or not; nothing else may have happened.
//   K8. An acknowledged move task exists and has moved each message completely. When it reports
//       completion, it has left nothing behind.

import { mayBeDead } from "./deliveries.ts";
import {
  CLOCK_TOLERANCE_MS,
  type Facts,
  type MessageFact,
  queueFacts,
  type Setting,
} from "./facts.ts";
import { MOVED_FROM, planOf } from "./queue-plan.ts";

export interface Peeked {
  readonly seq: number;
  readonly messageId: string;
  readonly body: string;
  readonly groupId: string | null;
  readonly state: "visible" | "delayed" | "in-flight";
  readonly dueAt: number;
  readonly receiveCount: number;
}

export interface QueueObservation {
  readonly name: string;
  readonly messages: readonly Peeked[];
  /** Messages in all states, as the admin API counts them. */
  readonly counted: number;
  /** Attributes and tags, by their names in `QueueFacts.settings`. */
  readonly settings: ReadonlyMap<string, string>;
}

export interface Observation {
  /** When the observation ended. */
  readonly endedMs: number;
  /** The states of the latest move tasks, newest first. */
  readonly moveTasks: readonly string[];
  readonly queues: readonly QueueObservation[];
}

/** Where a message is. */
export interface Sighting {
  readonly queue: string;
  readonly peeked: Peeked;
}

export function sightingsOf(observation: Observation): Map<string, Sighting[]> {
  const sightings = new Map<string, Sighting[]>();
  for (const queue of observation.queues) {
    for (const peeked of queue.messages) {
      const earlier = sightings.get(peeked.body) ?? [];
      sightings.set(peeked.body, [...earlier, { queue: queue.name, peeked }]);
    }
  }
  return sightings;
}

function checkDeadline(fact: MessageFact, moved: boolean, peeked: Peeked, endedMs: number) {
  const { hidden } = fact;
  if (hidden === null || hidden === "unknown") return null;
  const { minMs, maxMs } = hidden;
  if (endedMs >= minMs - CLOCK_TOLERANCE_MS) return null; // It may be visible by now.
  if (moved) return "moved to the dead-letter queue before its visibility ended";
  const due = fact.receiveCount === 0 ? "delayed" : "in-flight";
  if (peeked.state !== due) return `is ${peeked.state} before its visibility ended`;
  const { dueAt } = peeked;
  if (dueAt >= minMs - CLOCK_TOLERANCE_MS && dueAt <= maxMs + CLOCK_TOLERANCE_MS) return null;
  return `is due at ${dueAt}, but ${minMs} to ${maxMs} was acknowledged`;
}

/** How many unanswered receives the server may have counted. K3 */
function gainMax(facts: Facts, fact: MessageFact, inDeadLetters: boolean): number {
  const open = (queue: string | undefined): number =>
    queue === undefined ? 0 : queueFacts(facts, queue).openReceives;
  const { movesTo } = planOf(fact.queue);
  const atSource = fact.dead ? 0 : open(fact.queue);
  if (!inDeadLetters) return atSource + (movesTo === null ? 0 : open(movesTo));
  const move = fact.dead ? 0 : 1; // The receive that moved it may have been counted as well.
  return atSource + move + open(planOf(fact.queue).deadLetters?.queue);
}

function checkSighting(facts: Facts, fact: MessageFact, at: Sighting, endedMs: number): string[] {
  const violations: string[] = [];
  const { peeked, queue } = at;
  const { deadLetters, movesTo } = planOf(fact.queue);
  const inDeadLetters = deadLetters?.queue === queue;
  const byTask = movesTo === queue && facts.moves.acked + Number(facts.moves.asked) > 0;
  if (queue !== fact.queue && !inDeadLetters && !byTask)
    violations.push(`was sent to ${fact.queue}, is in ${queue}`);
  if (queue === fact.queue && fact.dead) violations.push("came back from the dead-letter queue");
  const moved = inDeadLetters && !fact.dead;
  if (moved && !mayBeDead(facts, fact)) violations.push("moved to the dead-letter queue too early");
  const renamed = byTask && !fact.dead; // A move task creates a new message.
  if (!renamed && fact.messageId !== null && fact.messageId !== peeked.messageId) {
    violations.push(`was acknowledged as ${fact.messageId}, is ${peeked.messageId}`);
  }
  const countMax = fact.receiveCount + gainMax(facts, fact, inDeadLetters);
  if (peeked.receiveCount < fact.receiveCount) {
    violations.push(`receive count decreased from ${fact.receiveCount} to ${peeked.receiveCount}`); // K3
  } else if (peeked.receiveCount > countMax) {
    violations.push(`receive count ${peeked.receiveCount} is above ${countMax}`); // K3
  }
  const late = checkDeadline(fact, moved, peeked, endedMs); // K4
  if (late !== null) violations.push(late);
  return violations;
}

function checkMessage(
  facts: Facts,
  fact: MessageFact,
  sightings: readonly Sighting[],
  endedMs: number,
): string[] {
  const [at, again] = sightings;
  if (at === undefined) {
    const due = fact.send === "acked" && fact.delete === "none";
    return due ? ["was acknowledged and is lost"] : []; // K1, K7
  }
  if (again !== undefined) return [`is there ${sightings.length} times`]; // K1
  if (fact.delete === "acked") return [`came back to ${at.queue} after its delete`]; // K2
  if (fact.send === "refused-by-crash") return ["appeared after a crash that rejected it"];
  return checkSighting(facts, fact, at, endedMs);
}

function checkGroups(facts: Facts, queue: QueueObservation): string[] {
  const violations: string[] = [];
  const last = new Map<string, MessageFact>();
  for (const peeked of queue.messages.toSorted((a, b) => a.seq - b.seq)) {
    const fact = facts.messages.get(peeked.body);
    const number = fact?.sequenceNumber ?? null;
    if (fact === undefined || number === null || fact.queue !== queue.name) continue;
    const group = fact.groupId ?? "";
    const before = last.get(group);
    if ((before?.sequenceNumber ?? "") > number) {
      violations.push(`${fact.body}: is behind ${before?.body} of its group`); // K5
    }
    last.set(group, fact);
  }
  return violations;
}

function checkSettings(
  name: string,
  expected: ReadonlyMap<string, Setting>,
  actual: ReadonlyMap<string, string>,
): string[] {
  const violations: string[] = [];
  for (const [key, { acked, asked }] of expected) {
    const value = actual.get(key);
    if (value === acked || (asked !== null && value === asked)) continue; // K7
    violations.push(`${name}: ${key} is ${value}, but ${acked} was acknowledged`); // K6
  }
  return violations;
}

/** A list contains only the latest tasks. */
const TASKS_LISTED_MAX = 10;

function checkMoves({ moves }: Facts, observation: Observation): string[] {
  const violations: string[] = [];
  const { moveTasks, queues } = observation;
  const expected = Math.min(moves.acked, TASKS_LISTED_MAX);
  const possible = Math.min(moves.acked + Number(moves.asked), TASKS_LISTED_MAX);
  if (moveTasks.length < expected) {
    violations.push(
      `a move task was acknowledged and is lost: ${moveTasks.length} of ${expected} remain`,
    );
  }
  if (moveTasks.length > possible) violations.push("a move task exists that no client started");
  for (const status of moveTasks) {
    if (status !== "COMPLETED") violations.push(`a move task does not finish: ${status}`);
  }
  if (moves.asked) return violations; // K7
  const remaining = queues.find(({ name }) => name === MOVED_FROM)?.messages ?? [];
  const bodies = new Set(remaining.map(({ body }) => body));
  for (const { body } of moves.mustMove) {
    if (bodies.has(body)) violations.push(`${body}: was left behind by a completed move task`);
  }
  return violations; // K8
}

/** Every contradiction between the observation and the facts, one sentence each. */
export function checkObservation(facts: Facts, observation: Observation): string[] {
  const violations: string[] = [];
  const sightings = sightingsOf(observation);
  for (const [body, [at]] of sightings) {
    if (facts.messages.has(body)) continue;
    violations.push(`${body}: is in ${at?.queue} but was never sent`); // K2
  }
  for (const fact of facts.messages.values()) {
    const problems = checkMessage(facts, fact, sightings.get(fact.body) ?? [], observation.endedMs);
    violations.push(...problems.map((text) => `${fact.body}: ${text}`));
  }
  violations.push(...checkMoves(facts, observation));
  for (const queue of observation.queues) {
    violations.push(...checkGroups(facts, queue));
    violations.push(
      ...checkSettings(queue.name, queueFacts(facts, queue.name).settings, queue.settings),
    );
    if (queue.counted !== queue.messages.length) {
      violations.push(`${queue.name}: counts ${queue.counted}, holds ${queue.messages.length}`); // K6
    }
  }
  return violations;
}
