// Check: compares what a restarted server holds with what its clients were told.
//   K1. Nothing acknowledged is lost: what was sent and not deleted is there, exactly once, where
//       it was sent to or among that queue's dead letters.
//   K2. Nothing deleted came back, and nothing is there that nobody sent.
//   K3. Receive counts do not go back, and unanswered receives must explain what they gained.
//   K4. A message whose visibility has not ended is in flight until the instant that was told.
//   K5. A group's messages lie in the order of their sequence numbers.
//   K6. Attributes and tags are as acknowledged, and the counts are those of the messages.
//   K7. What was asked and not answered may have been done or not; nothing else may have happened.
//   K8. A move task that was acknowledged is there, has moved each message whole, and when it says
//       that it is complete, it has left nothing behind.

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
  /** Messages in all states, as the admin's list counts them. */
  readonly counted: number;
  /** Attributes and tags, by the names under which `settings` keeps them. */
  readonly settings: ReadonlyMap<string, string>;
}

export interface Observation {
  /** When the last look was over. */
  readonly endedMs: number;
  /** The states of the latest move tasks, newest first. */
  readonly moveTasks: readonly string[];
  readonly queues: readonly QueueObservation[];
}

/** Where a message was found. */
export interface Sighting {
  readonly queue: string;
  readonly peeked: Peeked;
}

export function sightingsOf(observation: Observation): Map<string, Sighting[]> {
  const found = new Map<string, Sighting[]>();
  for (const queue of observation.queues) {
    for (const peeked of queue.messages) {
      found.set(peeked.body, [...(found.get(peeked.body) ?? []), { queue: queue.name, peeked }]);
    }
  }
  return found;
}

function checkDeadline(fact: MessageFact, moved: boolean, peeked: Peeked, endedMs: number) {
  const { hidden } = fact;
  if (hidden === null || hidden === "unknown") return null;
  const { minMs, maxMs } = hidden;
  if (endedMs >= minMs - CLOCK_TOLERANCE_MS) return null; // It may be visible by now.
  if (moved) return "went to the dead letters before its visibility ended";
  const due = fact.receiveCount === 0 ? "delayed" : "in-flight";
  if (peeked.state !== due) return `is ${peeked.state} before its visibility ended`;
  const { dueAt } = peeked;
  if (dueAt >= minMs - CLOCK_TOLERANCE_MS && dueAt <= maxMs + CLOCK_TOLERANCE_MS) return null;
  return `is due at ${dueAt}, but ${minMs} to ${maxMs} was told`;
}

/** How many receives may have been counted that nobody got an answer to. K3 */
function gainMax(facts: Facts, fact: MessageFact, inDeadLetters: boolean): number {
  const open = (queue: string | undefined): number =>
    queue === undefined ? 0 : queueFacts(facts, queue).openReceives;
  const { movesTo } = planOf(fact.queue);
  const atSource = fact.dead ? 0 : open(fact.queue);
  if (!inDeadLetters) return atSource + (movesTo === null ? 0 : open(movesTo));
  const move = fact.dead ? 0 : 1; // The receive that moved it may have been counted, too.
  return atSource + move + open(planOf(fact.queue).deadLetters?.queue);
}

function checkFound(facts: Facts, fact: MessageFact, at: Sighting, endedMs: number): string[] {
  const wrong: string[] = [];
  const { peeked, queue } = at;
  const { deadLetters, movesTo } = planOf(fact.queue);
  const inDeadLetters = deadLetters?.queue === queue;
  const taken = movesTo === queue && facts.moves.acked + Number(facts.moves.asked) > 0;
  if (queue !== fact.queue && !inDeadLetters && !taken)
    wrong.push(`was sent to ${fact.queue}, is in ${queue}`);
  if (queue === fact.queue && fact.dead) wrong.push("came back from the dead letters");
  const moved = inDeadLetters && !fact.dead;
  if (moved && !mayBeDead(facts, fact)) wrong.push("went to the dead letters too early");
  const renamed = taken && !fact.dead; // A move task makes a new message of it.
  if (!renamed && fact.messageId !== null && fact.messageId !== peeked.messageId) {
    wrong.push(`was told as ${fact.messageId}, is ${peeked.messageId}`);
  }
  const countMax = fact.receiveCount + gainMax(facts, fact, inDeadLetters);
  if (peeked.receiveCount < fact.receiveCount) {
    wrong.push(`receive count went back from ${fact.receiveCount} to ${peeked.receiveCount}`); // K3
  } else if (peeked.receiveCount > countMax) {
    wrong.push(`receive count ${peeked.receiveCount} is above ${countMax}`); // K3
  }
  const late = checkDeadline(fact, moved, peeked, endedMs); // K4
  if (late !== null) wrong.push(late);
  return wrong;
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
  if (again !== undefined) return [`is held ${sightings.length} times`]; // K1
  if (fact.delete === "acked") return [`came back to ${at.queue} after its delete`]; // K2
  if (fact.send === "refused-by-crash") return ["turned up long after the crash that refused it"];
  return checkFound(facts, fact, at, endedMs);
}

function checkGroups(facts: Facts, queue: QueueObservation): string[] {
  const wrong: string[] = [];
  const last = new Map<string, MessageFact>();
  for (const peeked of queue.messages.toSorted((a, b) => a.seq - b.seq)) {
    const fact = facts.messages.get(peeked.body);
    const number = fact?.sequenceNumber ?? null;
    if (fact === undefined || number === null || fact.queue !== queue.name) continue;
    const group = fact.groupId ?? "";
    const before = last.get(group);
    if ((before?.sequenceNumber ?? "") > number) {
      wrong.push(`${fact.body}: lies behind ${before?.body} of its group`); // K5
    }
    last.set(group, fact);
  }
  return wrong;
}

function checkSettings(
  name: string,
  told: ReadonlyMap<string, Setting>,
  seen: ReadonlyMap<string, string>,
): string[] {
  const wrong: string[] = [];
  for (const [key, { acked, asked }] of told) {
    const value = seen.get(key);
    if (value === acked || (asked !== null && value === asked)) continue; // K7
    wrong.push(`${name}: ${key} is ${value}, but ${acked} was acknowledged`); // K6
  }
  return wrong;
}

/** A list tells of the latest ones only. */
const TASKS_LISTED_MAX = 10;

function checkMoves({ moves }: Facts, observation: Observation): string[] {
  const wrong: string[] = [];
  const { moveTasks, queues } = observation;
  const told = Math.min(moves.acked, TASKS_LISTED_MAX);
  const possible = Math.min(moves.acked + Number(moves.asked), TASKS_LISTED_MAX);
  if (moveTasks.length < told) {
    wrong.push(`a move task was acknowledged and is lost: ${moveTasks.length} of ${told} are left`);
  }
  if (moveTasks.length > possible) wrong.push("there is a move task that nobody started");
  for (const status of moveTasks) {
    if (status !== "COMPLETED") wrong.push(`a move task does not come to its end: ${status}`);
  }
  if (moves.asked) return wrong; // K7
  const left = queues.find(({ name }) => name === MOVED_FROM)?.messages ?? [];
  const bodies = new Set(left.map(({ body }) => body));
  for (const { body } of moves.mustMove) {
    if (bodies.has(body)) wrong.push(`${body}: was left behind by a move task that is complete`);
  }
  return wrong; // K8
}

/** Everything in which the observation contradicts the facts, in whole sentences. */
export function checkObservation(facts: Facts, observation: Observation): string[] {
  const wrong: string[] = [];
  const sightings = sightingsOf(observation);
  for (const [body, [at]] of sightings) {
    if (facts.messages.has(body)) continue;
    wrong.push(`${body}: is in ${at?.queue} but was never sent`); // K2
  }
  for (const fact of facts.messages.values()) {
    const found = checkMessage(facts, fact, sightings.get(fact.body) ?? [], observation.endedMs);
    wrong.push(...found.map((text) => `${fact.body}: ${text}`));
  }
  wrong.push(...checkMoves(facts, observation));
  for (const queue of observation.queues) {
    wrong.push(...checkGroups(facts, queue));
    wrong.push(
      ...checkSettings(queue.name, queueFacts(facts, queue.name).settings, queue.settings),
    );
    if (queue.counted !== queue.messages.length) {
      wrong.push(`${queue.name}: counts ${queue.counted}, holds ${queue.messages.length}`); // K6
    }
  }
  return wrong;
}
