// Sending in the reference: which entries are refused, are duplicates, or become messages.

import { createHash } from "node:crypto";
import { type Fault, refuse } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationOutput,
  SendEntry,
  SentMessage,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import type { EpochMs } from "../../../src/core/units.ts";
import type { Choices } from "./choices.ts";
import { missingQueue } from "./queue-attributes.ts";
import {
  attributeMs,
  DEDUP_WINDOW_MS,
  invalidValue,
  isFifo,
  nextSerial,
  queueNamed,
  type RefQueue,
  type RefWorld,
} from "./state.ts";

const NO_DEDUP_ID =
  "The queue should either have ContentBasedDeduplication enabled or " +
  "MessageDeduplicationId provided explicitly";

/** The effective deduplication id: the explicit one, or the hash of the body. */
function dedupIdOf(queue: RefQueue, entry: SendEntry): string | null {
  if (entry.dedupId !== null) return entry.dedupId;
  if (queue.attributes.ContentBasedDeduplication !== "true") return null;
  return createHash("sha256").update(entry.body).digest("hex");
}

/** Faults that refuse a whole batch or a single send. */
function requestFault(queue: RefQueue, entry: SendEntry, batch: boolean): Fault | null {
  if (!isFifo(queue)) return null;
  if (entry.groupId === null) {
    return batch
      ? { name: "InvalidParameterValue", message: "~MessageGroupId" }
      : {
          name: "MissingParameter",
          message: "The request must contain the parameter MessageGroupId.",
        };
  }
  if (dedupIdOf(queue, entry) === null) {
    return { name: "InvalidParameterValue", message: NO_DEDUP_ID };
  }
  return null;
}

function entryFault(queue: RefQueue, entry: SendEntry, batch: boolean): Fault | null {
  const bytesMax = Number(queue.attributes.MaximumMessageSize);
  if (entry.sizeBytes > bytesMax) {
    const verb = batch ? "cannot be validated" : "are invalid";
    const reason = `Message must be shorter than ${bytesMax} bytes.`;
    const message = `One or more parameters ${verb}. Reason: ${reason}`;
    return { name: "InvalidParameterValue", message };
  }
  if (isFifo(queue) && entry.delayMs !== null && entry.delayMs > 0) {
    return {
      name: "InvalidParameterValue",
      message: invalidValue(
        entry.delayMs / 1_000,
        "DelaySeconds",
        "The request include parameter that is not valid for this queue type.",
      ),
    };
  }
  if (!isFifo(queue) && entry.dedupId !== null) {
    return { name: "InvalidParameterValue", message: "~MessageDeduplicationId" };
  }
  return null;
}

function accept(
  world: RefWorld,
  queue: RefQueue,
  entry: SendEntry,
  index: number,
  now: EpochMs,
  choices: Choices,
): SentMessage {
  const fifo = isFifo(queue);
  const dedupId = fifo ? dedupIdOf(queue, entry) : null;
  const scope = queue.dedupScope === "messageGroup" ? `group ${entry.groupId}` : "queue";
  const previous = queue.dedups.find(
    (dedup) =>
      dedup.scope === scope && dedup.id === dedupId && now < dedup.acceptedAt + DEDUP_WINDOW_MS,
  );
  if (previous !== undefined) {
    return { messageId: previous.messageId, sequenceNumber: previous.sequenceNumber };
  }
  const sent = choices.sent(queue, index);
  const queueDelayMs = attributeMs(queue, "DelaySeconds");
  const delayMs = fifo ? queueDelayMs : (entry.delayMs ?? queueDelayMs);
  queue.messages.push({
    serial: nextSerial(world),
    messageId: sent.messageId,
    body: entry.body,
    attributes: entry.attributes,
    traceHeader: entry.traceHeader,
    groupId: entry.groupId,
    dedupId,
    sequenceNumber: sent.sequenceNumber,
    sentAt: now,
    dueAt: now + delayMs,
    receivedAt: 0,
    firstReceivedAt: 0,
    receiveCount: 0,
    arrivalCount: 0,
    sourceArn: null,
    handle: null,
  });
  if (dedupId !== null) queue.dedups.push({ scope, id: dedupId, acceptedAt: now, ...sent });
  return sent;
}

export function send(
  world: RefWorld,
  input: OperationInput<"send">,
  now: EpochMs,
  choices: Choices,
): Result<OperationOutput<"send">, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  for (const entry of input.entries) {
    const fault = requestFault(queue, entry, input.batch);
    if (fault !== null) return { ok: false, fault };
  }
  const results: Result<SentMessage, Fault>[] = [];
  for (const [index, entry] of input.entries.entries()) {
    const fault = entryFault(queue, entry, input.batch);
    if (fault !== null && !input.batch) return { ok: false, fault };
    results.push(
      fault === null
        ? succeed(accept(world, queue, entry, index, now, choices))
        : refuse(fault.name, fault.message),
    );
  }
  return succeed({ results });
}
