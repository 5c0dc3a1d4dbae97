// Broker queue: sends to and receives from a queue of the embedded cloud without HTTP.
//   B1. A transient fault fails with TG_QUEUE_UNAVAILABLE, and so does an injected lost response:
//       the caller sees both as a broken connection.

import type { Broker } from "../broker/engine/broker.ts";
import type { Fault, FaultName } from "../broker/model/fault.ts";
import type {
  ReceivedCopy as BrokerDelivery,
  MessageAttribute,
  OperationInput,
  OperationName,
  OperationOutput,
  OperationResult,
  SendEntry,
} from "../broker/model/operations.ts";
import type { S3OperationName } from "../broker/model/s3/s3-operations.ts";
import { messageBytes } from "../core/encoding/message-size.ts";
import { TidegateError } from "../core/errors.ts";
import { traceHeaderOf } from "../core/events/trace-context.ts";
import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
  SQS_RECEIVE_MESSAGES_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
} from "../core/limits.ts";
import { parseQueueArn } from "../core/queue-arn.ts";
import { QUEUE_FACT_ATTRIBUTES, queueFactsOf } from "../core/queue-facts.ts";
import { settlementFault } from "../core/settle-fault.ts";
import { durationMs } from "../core/units.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type {
  Delivery,
  Queue,
  QueueReceiver,
  ReceiveRequest,
  SettlementResult,
} from "../ports/queue-receiver.ts";

/** Transient faults; all others are the caller's. */
const TRANSIENT: ReadonlySet<FaultName> = new Set<FaultName>([
  "InternalFailure",
  "ServiceUnavailable",
  "OverLimit",
  "Throttled",
]);

const DONE: SettlementResult = { kind: "done" };

export interface BrokerQueueOptions {
  /** Name or ARN. */
  readonly queue: string;
  readonly messageBytesMax?: number;
}

/** The queue must exist when it is first used. */
export function createBrokerQueue(broker: Broker, options: BrokerQueueOptions): Queue {
  const { messageBytesMax = SQS_MESSAGE_BYTES_MAX } = options;
  const queue = parseQueueArn(options.queue)?.name ?? options.queue;
  const ask: Ask = (name, input, signal) => submit(broker, queue, name, input, signal);
  return {
    kind: "queue",
    name: queue,
    fifo: queue.endsWith(".fifo"),
    limits: {
      entriesMax: SQS_BATCH_ENTRIES_MAX,
      batchBytesMax: SQS_BATCH_BYTES_MAX,
      messageBytesMax,
    },
    async sendBatch(messages) {
      const entries = messages.map(entryOf);
      const { results } = await ask("send", { queue, entries, batch: true });
      return results.map(sendOutcomeOf);
    },
    ...receiverOf(queue, ask),
  };
}

type QueueOperation = Exclude<OperationName, S3OperationName>;

type Ask = <K extends QueueOperation>(
  name: K,
  input: OperationInput<K>,
  signal?: AbortSignal,
) => Promise<OperationOutput<K>>;

type Receiving = Omit<QueueReceiver, "name" | "fifo">;

function receiverOf(queue: string, ask: Ask): Receiving {
  return {
    async receive(request, signal) {
      const { deliveries } = await ask("receive", receiveInput(queue, request), signal);
      return deliveries.map(deliveryOf);
    },
    async deleteBatch(receipts) {
      const { faults } = await ask("delete", { queue, handles: [...receipts] });
      return faults.map(settleOutcomeOf);
    },
    async changeVisibility(changes) {
      const entries = changes.map(({ receipt: handle, visibilityMs }) => {
        return { handle, visibilityMs };
      });
      const { faults } = await ask("changeVisibility", { queue, entries });
      return faults.map(settleOutcomeOf);
    },
    async facts() {
      const names = [...QUEUE_FACT_ATTRIBUTES];
      const { attributes } = await ask("getQueueAttributes", { queue, names });
      const { queues } = await ask("countQueues", { prefix: queue });
      const oldestSentAt = queues.find(({ name }) => name === queue)?.oldestSentAt ?? null;
      return { ...queueFactsOf(attributes), oldestSentAt };
    },
  };
}

async function submit<K extends QueueOperation>(
  broker: Broker,
  queue: string,
  name: K,
  input: OperationInput<K>,
  signal: AbortSignal | undefined,
): Promise<OperationOutput<K>> {
  let outcome: OperationResult<K>;
  try {
    outcome = await broker.submit(name, input, signal);
  } catch (error) {
    if (!(error instanceof TidegateError) || error.retry === "never") throw error;
    const message = `${queue}: ${error.message}`;
    throw new TidegateError("TG_QUEUE_UNAVAILABLE", message, { cause: error }); // B1
  }
  if (outcome.ok) return outcome.value;
  const { fault } = outcome;
  const code = TRANSIENT.has(fault.name) ? "TG_QUEUE_UNAVAILABLE" : "TG_QUEUE_REFUSED";
  throw new TidegateError(code, `${queue}: ${fault.name}: ${fault.message}`);
}

function entryOf({ body, attributes, groupId, dedupId }: OutgoingMessage): SendEntry {
  const named = Object.entries(attributes).map(([name, value]) => [
    name,
    { type: "String", value },
  ]);
  return {
    body,
    sizeBytes: messageBytes(body, attributes),
    attributes: named.length === 0 ? null : Object.fromEntries(named),
    traceHeader: traceHeaderOf(attributes),
    groupId,
    dedupId,
    delayMs: null,
  };
}

function sendOutcomeOf(result: OperationOutput<"send">["results"][number]): SendOutcome {
  if (result.ok) return { kind: "sent", ...result.value };
  const { name, message } = result.fault;
  return { kind: "refused", code: name, message, retry: TRANSIENT.has(name) ? "later" : "never" };
}

function receiveInput(queue: string, request: ReceiveRequest): OperationInput<"receive"> {
  return {
    queue,
    max: Math.min(request.max, SQS_RECEIVE_MESSAGES_MAX),
    waitMs: durationMs(Math.min(request.waitMs, SQS_RECEIVE_WAIT_MS_MAX)),
    visibilityMs: request.visibilityMs,
    attemptId: null,
  };
}

function deliveryOf(delivery: BrokerDelivery): Delivery {
  const { messageId, receiptHandle, body, attributes, traceHeader, groupId, dedupId } = delivery;
  return {
    messageId,
    receipt: receiptHandle,
    body,
    attributes: attributes === null ? {} : textOf(attributes),
    traceHeader,
    groupId,
    dedupId,
    sentAt: delivery.sentAt,
    receiveCount: delivery.receiveCount,
    movedFrom: delivery.sourceArn,
  };
}

function textOf(attributes: Readonly<Record<string, MessageAttribute>>): Record<string, string> {
  const text = Object.entries(attributes).filter(([, { type }]) => !type.startsWith("Binary"));
  return Object.fromEntries(text.map(([name, { value }]) => [name, value]));
}

function settleOutcomeOf(fault: Fault | null): SettlementResult {
  return fault === null ? DONE : settlementFault(fault.name, fault.message);
}
