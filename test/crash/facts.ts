// Facts: what the clients requested and which responses they got, stored outside of the server.
//   F1. A request without a response (yet) is "unknown": the server may have carried it out or not.
//       A request makes a fact unknown, a response makes it certain; a crash leaves it unknown.
//   F2. A contradiction between a response and earlier ones is a violation, immediately.
//   F3. Time bounds are sound: the server acted between the request's start and its response, and
//       its clock is that of this machine. CLOCK_TOLERANCE_MS covers rounding.
//   F4. Only one client sends to a message group, so its sends have one true order.

import { isPurged, planOf } from "./queue-plan.ts";

export const CLOCK_TOLERANCE_MS = 100;

/** The bounds of an instant. */
export interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface MessageFact {
  /** The message's unique body. */
  readonly body: string;
  /** Where it was sent to. */
  readonly queue: string;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  /** The client that sends to its group. F4 */
  readonly client: number;
  /** Start of the first request that may have been accepted. */
  sentFromMs: number;
  send: "acked" | "unknown" | "refused-by-crash";
  messageId: string | null;
  sequenceNumber: string | null;
  delete: "none" | "unknown" | "acked";
  /** Whether it is in the dead-letter queue. */
  dead: boolean;
  /** The highest count in any response. */
  receiveCount: number;
  /** When it becomes visible (again); null: it is visible. Before any receive this is a delay. */
  hidden: Span | "unknown" | null;
}

/** An attribute or tag: the acknowledged value, and a requested one. F1 */
export interface Setting {
  acked: string;
  asked: string | null;
}

export interface DeliveredCopy {
  readonly body: string;
  readonly messageId: string;
  readonly sequenceNumber: string | null;
  readonly receiveCount: number;
}

/** The facts of one queue other than its messages. */
export interface QueueFacts {
  /** Receives without a response since the last check. */
  openReceives: number;
  /** The highest sequence number before the last restart. */
  sequenceFloor: string;
  /** The highest sequence number in any response. */
  sequenceTop: string;
  /** The highest sequence number per group. F4 */
  readonly groupTops: Map<string, string>;
  readonly settings: Map<string, Setting>;
}

export interface Facts {
  readonly messages: Map<string, MessageFact>;
  /** Per queue and group, the messages that may still exist. */
  readonly groups: Map<string, Set<MessageFact>>;
  readonly queues: Map<string, QueueFacts>;
  readonly moves: MoveFacts;
  /** Queues with an unanswered purge: messages sent meanwhile may be purged as well. */
  readonly purging: Set<string>;
  readonly violations: string[];
}

/** The facts of the message move tasks. */
export interface MoveFacts {
  /** Tasks whose start was acknowledged. */
  acked: number;
  /** Whether a start was requested and not answered. F1 */
  asked: boolean;
  /** The messages that the latest task must have moved when it reports completion. */
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
  let queue = facts.queues.get(name);
  if (queue === undefined) {
    queue = {
      openReceives: 0,
      sequenceFloor: "",
      sequenceTop: "",
      groupTops: new Map(),
      settings: new Map(),
    };
    facts.queues.set(name, queue);
  }
  return queue;
}

/** Records that a new message is about to be sent. */
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

/** The messages of a fact's queue and group that may still exist, itself included. */
export function groupOf(facts: Facts, fact: MessageFact): Set<MessageFact> {
  const key = JSON.stringify([fact.queue, fact.groupId]);
  let group = facts.groups.get(key);
  if (group === undefined) {
    group = new Set();
    facts.groups.set(key, group);
  }
  return group;
}

/** How many messages clients have yet to process, without those that wait for a purge. */
export function liveMessages(facts: Facts): number {
  let live = 0;
  for (const group of facts.groups.values()) {
    const [first] = group;
    if (first !== undefined && !isPurged(first.queue)) live += group.size;
  }
  return live;
}

/** Records a deletion: from the response, or because the queue no longer has the message. */
export function answerDelete(facts: Facts, fact: MessageFact): void {
  fact.delete = "acked";
  groupOf(facts, fact).delete(fact);
}

/** Records the first response to a send. */
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

/** Checks a new send: its number is above its group's, and above all before the restart. */
export function checkNewSequence(facts: Facts, fact: MessageFact): void {
  const { sequenceFloor, groupTops } = queueFacts(facts, fact.queue);
  const { sequenceNumber, groupId } = fact;
  if (sequenceNumber === null || groupId === null) return;
  const report = (floor: string, what: string): number =>
    facts.violations.push(
      `${fact.body}: sequence number ${sequenceNumber} is not above ${floor}, ${what}`,
    );
  const groupTop = groupTops.get(groupId) ?? "";
  if (sequenceNumber <= sequenceFloor)
    report(sequenceFloor, "which was assigned before the restart");
  if (sequenceNumber <= groupTop) report(groupTop, "which its group already has");
  else groupTops.set(groupId, sequenceNumber);
}

/** Checks the response to a send whose deduplication id was accepted before. F2 */
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
