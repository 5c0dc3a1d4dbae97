// Observed choices: the reference follows the choices of the broker under test. A choice that the
// rules do not allow throws Illegal.
//   C1. Message ids and handles are never reused; sequence numbers have 20 digits and grow.
//   C2. A receive may take any candidate, in any order, but only candidates.

import type { Fault } from "../../../src/broker/model/fault.ts";
import type {
  PeekedMessage,
  ReceivedCopy,
  SentMessage,
} from "../../../src/broker/model/operations.ts";
import type { Result } from "../../../src/core/result.ts";
import { type Choices, Illegal } from "../reference/choices.ts";
import { isExhausted } from "../reference/receiving.ts";
import { isFifo, type RefMessage, type RefQueue, type RefWorld } from "../reference/state.ts";

/** The observed result of one step. */
export interface Observation {
  readonly sent?: readonly Result<SentMessage, Fault>[];
  readonly deliveries?: readonly ReceivedCopy[];
  /** Ids that left the queue in a receive without being delivered. */
  readonly movedIds?: ReadonlySet<string>;
  /** An empty response is allowed whatever the queue has, because the wait has ended. */
  readonly timedOut?: boolean;
  /** The present messages of the targets of a move task, by queue name. */
  readonly peeked?: ReadonlyMap<string, readonly PeekedMessage[]>;
  readonly taskHandle?: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SEQUENCE = /^\d{20}$/;

/** Everything observed since the first step, across restarts. */
export interface Seen {
  readonly messageIds: Set<string>;
  readonly handles: Set<string>;
}

function newMessageId(usedIds: Seen, id: string): string {
  if (!UUID.test(id)) throw new Illegal(`message id ${id} is not a UUID`);
  if (usedIds.messageIds.has(id)) throw new Illegal(`message id ${id} was given out twice`); // C1
  usedIds.messageIds.add(id);
  return id;
}

function checkSequence(queue: RefQueue, sequence: string | null): void {
  if (!isFifo(queue)) {
    if (sequence !== null) throw new Illegal(`sequence number ${sequence} on a standard queue`);
    return;
  }
  if (sequence === null || !SEQUENCE.test(sequence)) {
    throw new Illegal(`sequence number ${sequence} has not 20 digits`);
  }
}

function checkNewSequence(queue: RefQueue, sequence: string | null): string | null {
  checkSequence(queue, sequence);
  if (sequence !== null) {
    if (sequence <= queue.lastSequence) {
      throw new Illegal(`sequence number ${sequence} after ${queue.lastSequence}`); // C1
    }
    queue.lastSequence = sequence;
  }
  return sequence;
}

/** The candidate that the observed receive took next. */
function pickObserved(
  observed: Observation,
  queue: RefQueue,
  candidates: readonly RefMessage[],
  next: ReceivedCopy | undefined,
): RefMessage | null {
  const moved = candidates.find(
    (message) => observed.movedIds?.has(message.messageId) === true && isExhausted(queue, message),
  );
  if (moved !== undefined) return moved;
  if (next === undefined) {
    if (observed.timedOut === true) return null;
    const remaining = candidates.map((message) => message.body).join(", ");
    throw new Illegal(
      `${queue.name}: the receive remaining ${remaining} although nothing hides it`,
    );
  }
  const match = candidates.find((message) => message.messageId === next.messageId); // C2
  if (match === undefined) {
    throw new Illegal(`${queue.name}: delivered ${next.body}, which may not be delivered now`);
  }
  if (isExhausted(queue, match)) {
    throw new Illegal(`${queue.name}: delivered ${next.body} once too often`);
  }
  return match;
}

export function createObservedChoices(
  world: RefWorld,
  usedIds: Seen,
  observed: Observation,
): Choices {
  const deliveries = observed.deliveries ?? [];
  return {
    sent(queue, index) {
      const result = observed.sent?.[index];
      if (result === undefined) throw new Illegal(`entry ${index} has no result`);
      if (!result.ok) throw new Illegal(`entry ${index} was refused: ${result.fault.message}`);
      const { messageId, sequenceNumber } = result.value;
      return {
        messageId: newMessageId(usedIds, messageId),
        sequenceNumber: checkNewSequence(queue, sequenceNumber),
      };
    },
    pick: (queue, candidates, takenCount) =>
      pickObserved(observed, queue, candidates, deliveries[takenCount]),
    delivered(message, index) {
      const { receiptHandle, sequenceNumber, dedupId } = deliveries[index] as ReceivedCopy;
      if (usedIds.handles.has(receiptHandle)) throw new Illegal("a handle was given out twice"); // C1
      usedIds.handles.add(receiptHandle);
      const queue = world.queues.find((candidate) => candidate.messages.includes(message));
      if (queue === undefined) throw new Error("a message without a queue was delivered");
      checkSequence(queue, sequenceNumber);
      if (isFifo(queue) !== (dedupId !== null)) throw new Illegal(`deduplication id ${dedupId}`);
      return {
        receiptHandle,
        sequenceNumber: message.sequenceNumber ?? sequenceNumber,
        dedupId: message.dedupId ?? dedupId,
      };
    },
    deadLettered: () => null,
    redriven(message, target) {
      const match = observed.peeked
        ?.get(target.name)
        ?.find(
          (peeked) =>
            peeked.body === message.body &&
            peeked.groupId === message.groupId &&
            !usedIds.messageIds.has(peeked.messageId),
        );
      if (match === undefined) throw new Illegal(`${message.body} did not reach ${target.name}`);
      return {
        messageId: newMessageId(usedIds, match.messageId),
        sequenceNumber: null,
        sentAt: match.sentAt,
      };
    },
    taskStarted: () => observed.taskHandle ?? "",
  };
}
