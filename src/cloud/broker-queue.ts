// Broker queue: a queue of the embedded cloud as a producer's target, without HTTP in between.

import type { Broker } from "../broker/engine/broker.ts";
import type { Fault, FaultName } from "../broker/model/fault.ts";
import type { SendEntry } from "../broker/model/operations.ts";
import { TidegateError } from "../core/errors.ts";
import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
} from "../core/limits.ts";
import { messageBytes } from "../core/message-size.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../ports/queue.ts";

/** Faults of the moment; every other is the sender's. */
const PASSING: ReadonlySet<FaultName> = new Set<FaultName>([
  "InternalFailure",
  "ServiceUnavailable",
  "OverLimit",
]);

/** A sender to the queue of that name, which must exist by the time something is sent. */
export function createBrokerQueue(
  broker: Broker,
  options: { readonly queue: string; readonly messageBytesMax?: number },
): QueueSender {
  const { queue, messageBytesMax = SQS_MESSAGE_BYTES_MAX } = options;
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
      const outcome = await broker.submit("send", { queue, entries, batch: true });
      if (!outcome.ok) throw refusedWhole(queue, outcome.fault);
      return outcome.value.results.map(
        (result): SendOutcome =>
          result.ok ? { kind: "sent", ...result.value } : refusedOne(result.fault),
      );
    },
  };
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
    traceHeader: null,
    groupId,
    dedupId,
    delayMs: null,
  };
}

function refusedOne({ name, message }: Fault): SendOutcome {
  return { kind: "refused", code: name, message, retry: PASSING.has(name) ? "later" : "never" };
}

function refusedWhole(queue: string, { name, message }: Fault): TidegateError {
  const code = PASSING.has(name) ? "TG_QUEUE_UNAVAILABLE" : "TG_QUEUE_REFUSED";
  return new TidegateError(code, `${queue}: ${name}: ${message}`);
}
