// Send: accepts messages.
//   S1. An entry is refused before any of it is stored. The entries of a batch are independent,
//       except for the faults that AWS returns for the whole request.
//   S2. On a FIFO queue a duplicate gets the result of the original, and adds nothing.
//   S3. An injected delay adds to any other delay. On a FIFO queue, later messages of the group
//       wait for it as well.

import { sha256Hex } from "../../../core/encoding/hash.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, durationMs, type EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { SendEntry, SendInput, SentMessage } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { dedupDigest } from "./dedup-window.ts";
import { formatDetail } from "./message-detail.ts";
import type { QueueState } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";
import { formatSequenceNumber } from "./sequence-number.ts";

const NO_DEDUP_ID =
  "The queue should either have ContentBasedDeduplication enabled or " +
  "MessageDeduplicationId provided explicitly";
const NOT_FOR_TYPE = "Reason: The request include parameter that is not valid for this queue type.";

export function send(
  state: BrokerState,
  step: ModelStep,
  input: SendInput,
): Result<{ results: Result<SentMessage, Fault>[] }, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const whole = queue.fifo ? checkFifoIds(queue, input) : null;
  if (whole !== null) return whole;
  const results = input.entries.map((entry) => {
    const refused = checkEntry(queue, entry, input.batch); // S1
    return refused ?? succeed(admitMessage(state, step, queue, entry));
  });
  const only = results[0];
  if (!input.batch && only !== undefined && !only.ok) return only;
  return succeed({ results });
}

/** Faults of FIFO ids refuse the whole request, even if only one entry has them. */
function checkFifoIds(queue: QueueState, input: SendInput) {
  for (const entry of input.entries) {
    if (entry.groupId === null) {
      const name = input.batch ? "InvalidParameterValue" : "MissingParameter";
      return refuse(name, "The request must contain the parameter MessageGroupId.");
    }
    if (entry.dedupId === null && !queue.settings.contentBasedDedup) {
      return refuse("InvalidParameterValue", NO_DEDUP_ID);
    }
  }
  return null;
}

function checkEntry(queue: QueueState, entry: SendEntry, batch: boolean) {
  const { messageBytesMax } = queue.settings;
  if (entry.sizeBytes > messageBytesMax) {
    const verdict = batch ? "cannot be validated" : "are invalid";
    return refuse(
      "InvalidParameterValue",
      `One or more parameters ${verdict}. Reason: Message must be shorter than ` +
        `${messageBytesMax} bytes.`,
    );
  }
  if (queue.fifo && entry.delayMs !== null && entry.delayMs > 0) {
    const value = `Value ${entry.delayMs / 1_000} for parameter DelaySeconds is invalid.`;
    return refuse("InvalidParameterValue", `${value} ${NOT_FOR_TYPE}`);
  }
  if (!queue.fifo && entry.dedupId !== null) {
    const value = `Value ${entry.dedupId} for parameter MessageDeduplicationId is invalid.`;
    return refuse("InvalidParameterValue", `${value} ${NOT_FOR_TYPE}`);
  }
  return null;
}

/** Accepts a message that passed all checks, or recognises it as a duplicate (S2). */
export function admitMessage(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  entry: SendEntry,
): SentMessage {
  if (!queue.fifo) {
    const delayMs = entry.delayMs ?? queue.settings.delayMs;
    const { messageId } = keepMessage(state, step, queue, entry, addMs(step.now, delayMs), null);
    return { messageId, sequenceNumber: null };
  }
  const dedupId = entry.dedupId ?? sha256Hex(entry.body);
  const digest = dedupDigest(queue.record.dedupPerGroup ? entry.groupId : null, dedupId);
  const original = queue.dedup.find(digest);
  if (original !== null) {
    return {
      messageId: original.messageId,
      sequenceNumber: formatSequenceNumber(original.seq),
    }; // S2
  }
  const dueAt = addMs(step.now, queue.settings.delayMs);
  const accepted = keepMessage(state, step, queue, entry, dueAt, dedupId);
  queue.dedup.add(digest, step.now, accepted);
  const { messageId, seq } = accepted;
  step.emit({
    kind: "put-dedup",
    entry: {
      queue: queue.record.number,
      digest: digest.toString("hex"),
      acceptedAt: step.now,
      messageId,
      seq,
    },
  });
  return { messageId, sequenceNumber: formatSequenceNumber(seq) };
}

/** Adds a message to a queue, ignoring the deduplication window. */
export function keepMessage(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  entry: SendEntry,
  dueAt: EpochMs,
  dedupId: string | null,
): { messageId: string; seq: number } {
  const seq = state.nextSeq();
  const messageId = step.newId();
  const head = {
    seq,
    queue: queue.record.number,
    sentAt: step.now,
    dueAt: state.faults.active ? delayed(state, queue, entry, dueAt) : dueAt,
    receivedAt: 0 as EpochMs,
    firstReceivedAt: 0 as EpochMs,
    receiveCount: 0,
    group: entry.groupId,
    arrivalCount: 0,
  };
  queue.insert(head, step.now);
  const { attributes, attributesText, traceHeader, unsigned } = entry;
  const fields = { attributes, traceHeader, dedupId, sourceArn: null, unsigned };
  const detail = formatDetail(fields, attributesText);
  step.emit({ kind: "put-message", head, content: { id: messageId, body: entry.body, detail } });
  return { messageId, seq };
}

/** When a message becomes visible if faults delay it, in this queue or before it (S3). */
function delayed(state: BrokerState, queue: QueueState, entry: SendEntry, dueAt: EpochMs): EpochMs {
  const extraMs = state.faults.extraDelayMs("queue", queue.record.name);
  return addMs(dueAt, durationMs((entry.lateMs ?? 0) + extraMs));
}
