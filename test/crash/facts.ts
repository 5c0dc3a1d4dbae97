// Facts: what the clients asked for and what they were told, kept outside of the server.
//   F1. What was asked and not (yet) answered is "unknown": the server may have done it or not.
//       Asking makes a thing unknown, the answer makes it certain; a crash leaves it unknown.
//   F2. A contradiction between an answer and what was told before is a violation, at once.
//   F3. Time bounds are sound: the server acted between the request's start and its answer, and its
//       clock is this machine's. CLOCK_TOLERANCE_MS covers rounding.
//   F4. A message group is sent to by one client only, so its sends have one true order.

import { isPurged, planOf } from "./queue-plan.ts";

export const CLOCK_TOLERANCE_MS = 100;

/** The bounds of an instant. */
export interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface MessageFact {
  /** The message's body, which no other message has. */
  readonly body: string;
  /** Where it was sent to. */
  readonly queue: string;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  /** The client that sends it, and its group. F4 */
  readonly client: number;
  /** Start of the first request that may have been accepted. */
  sentFromMs: number;
  send: "acked" | "unknown" | "refused-by-crash";
  messageId: string | null;
  sequenceNumber: string | null;
  delete: "none" | "unknown" | "acked";
  /** Whether it was seen in the dead-letter queue. */
  dead: boolean;
  /** The highest count that anybody was told. */
  receiveCount: number;
  /** When it becomes visible (again); null: it is visible. Before any receive this is a delay. */
  hidden: Span | "unknown" | null;
}

/** An attribute or tag: the value that was acknowledged, and one that was asked for. F1 */
export interface Setting {
  acked: string;
  asked: string | null;
}

export interface Delivered {
  readonly body: string;
  readonly messageId: string;
  readonly sequenceNumber: string | null;
  readonly receiveCount: number;
}

/** What is known of one queue beyond its messages. */
export interface QueueFacts {
  /** Receives that were asked for and not answered since the last settlement. */
  openReceives: number;
  /** The highest sequence number told before the last restart. */
  sequenceFloor: string;
  /** The highest sequence number told. */
  sequenceTop: string;
  /** The highest sequence number told per group. F4 */
  readonly groupTops: Map<string, string>;
  readonly settings: Map<string, Setting>;
}

export interface Facts {
  readonly messages: Map<string, MessageFact>;
  /** Per queue and group, the messages that are not surely deleted. */
  readonly groups: Map<string, Set<MessageFact>>;
  readonly queues: Map<string, QueueFacts>;
  readonly moves: MoveFacts;
  /** Queues whose purge was asked for and not answered: what is sent meanwhile may go with it. */
  readonly purging: Set<string>;
  readonly violations: string[];
}

/** What is known of the message move tasks. */
export interface MoveFacts {
  /** Tasks whose start was acknowledged. */
  acked: number;
  /** Whether a start was asked for and not answered. F1 */
  asked: boolean;
  /** What the latest task must have moved when it says that it is complete. */
  mustMove: ReadonlySet<MessageFact>;
}

export const createFacts = (): Facts => ({
  messages: new Map(),
  groups: new Map(),
  queues: new Map(),
  moves: { acked: 0, asked: false, mustMove: new Set() },
  purging: new Set(),
  violations: [],
});

export function queueFacts(facts: Facts, name: string): QueueFacts {
  let found = facts.queues.get(name);
  if (found === undefined) {
    found = {
      openReceives: 0,
      sequenceFloor: "",
      sequenceTop: "",
      groupTops: new Map(),
      settings: new Map(),
    };
    facts.queues.set(name, found);
  }
  return found;
}

/** Notes that a new message is about to be sent. */
export function askSend(
  facts: Facts,
  send: Pick<MessageFact, "body" | "queue" | "groupId" | "dedupId" | "client"> & {
    readonly delayed?: boolean;
  },
  nowMs: number,
): MessageFact {
  const { delayed = false, ...rest } = send;
  const fact: MessageFact = {
    ...rest,
    sentFromMs: nowMs,
    send: "unknown", // F1
    messageId: null,
    sequenceNumber: null,
    delete: facts.purging.has(rest.queue) ? "unknown" : "none",
    dead: false,
    receiveCount: 0,
    hidden: delayed ? "unknown" : null,
  };
  facts.messages.set(fact.body, fact);
  groupOf(facts, fact).add(fact);
  return fact;
}

/** The messages of a fact's queue and group that are not surely deleted, itself included. */
export function groupOf(facts: Facts, fact: MessageFact): Set<MessageFact> {
  const key = JSON.stringify([fact.queue, fact.groupId]);
  let group = facts.groups.get(key);
  if (group === undefined) {
    group = new Set();
    facts.groups.set(key, group);
  }
  return group;
}

/** How many messages clients have yet to work off; those that wait for a purge are none. */
export function liveMessages(facts: Facts): number {
  let live = 0;
  for (const group of facts.groups.values()) {
    const [first] = group;
    if (first !== undefined && !isPurged(first.queue)) live += group.size;
  }
  return live;
}

/** The answer to a delete, or what a look into the queue told in its place. */
export function answerDelete(facts: Facts, fact: MessageFact): void {
  fact.delete = "acked";
  groupOf(facts, fact).delete(fact);
}

/** The answer to a send that nobody had had an answer to before. */
export function answerSend(
  facts: Facts,
  fact: MessageFact,
  answer: { readonly messageId: string; readonly sequenceNumber: string | null },
): void {
  if (fact.messageId !== null && fact.messageId !== answer.messageId) {
    facts.violations.push(
      `${fact.body}: accepted twice, as ${fact.messageId} and ${answer.messageId}`,
    );
  }
  fact.send = "acked";
  fact.messageId = answer.messageId;
  if (!planOf(fact.queue).fifo) return;
  const { sequenceNumber } = answer;
  if (sequenceNumber === null || !/^\d{20}$/.test(sequenceNumber)) {
    facts.violations.push(`${fact.body}: sequence number ${sequenceNumber} is not 20 digits`);
    return;
  }
  if (fact.sequenceNumber !== null && fact.sequenceNumber !== sequenceNumber) {
    facts.violations.push(`${fact.body}: sequence number changed to ${sequenceNumber}`);
  }
  fact.sequenceNumber = sequenceNumber;
  const queue = queueFacts(facts, fact.queue);
  if (sequenceNumber > queue.sequenceTop) queue.sequenceTop = sequenceNumber;
}

/** A send that was surely new: its number is above its group's, and above all before a restart. */
export function checkNewSequence(facts: Facts, fact: MessageFact): void {
  const { sequenceFloor, groupTops } = queueFacts(facts, fact.queue);
  const { sequenceNumber, groupId } = fact;
  if (sequenceNumber === null || groupId === null) return;
  const say = (floor: string, what: string): number =>
    facts.violations.push(
      `${fact.body}: sequence number ${sequenceNumber} is not above ${floor}, ${what}`,
    );
  const groupTop = groupTops.get(groupId) ?? "";
  if (sequenceNumber <= sequenceFloor) say(sequenceFloor, "which was told before the restart");
  if (sequenceNumber <= groupTop) say(groupTop, "which its group has had");
  else groupTops.set(groupId, sequenceNumber);
}

/** The answer to a send whose deduplication id had been accepted before. F2 */
export function answerDuplicate(
  facts: Facts,
  fact: MessageFact,
  answer: { readonly messageId: string; readonly sequenceNumber: string | null },
): void {
  if (answer.messageId !== fact.messageId) {
    facts.violations.push(
      `${fact.body}: a duplicate inside the window was answered with ${answer.messageId}, ` +
        `not with the original ${fact.messageId}`,
    );
  }
  if (fact.sequenceNumber !== null && answer.sequenceNumber !== fact.sequenceNumber) {
    facts.violations.push(
      `${fact.body}: a duplicate was answered with sequence number ${answer.sequenceNumber}, ` +
        `not with ${fact.sequenceNumber}`,
    );
  }
}
