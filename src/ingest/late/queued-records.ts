// Queued records: the records of messages that are still in a queue, with their event times.
//   Q1. A message is decoded as a delivery would be. A message that the pipeline would ignore has
//       no records.
//   Q2. An event time that cannot be found, because its function fails, is the default one.

import { createMask } from "../../core/encoding/mask.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { RecordKey } from "../../ports/record.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { decodeDelivery } from "../stages/decode.ts";
import { createEventTimes } from "../stages/event-time.ts";
import { createRecordMask } from "../telemetry/record-mask.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";

interface QueuedRecord {
  readonly key: RecordKey;
  readonly identity: string;
  readonly eventTime: EpochMs;
}

type QueuedDelivery = Pick<
  Delivery,
  "messageId" | "body" | "attributes" | "groupId" | "sentAt" | "receiveCount"
>;

/** Reads the records of a message in that queue (Q1). */
export function createQueueReader(
  ports: { readonly clock: Clock; readonly objects: ObjectSource | null },
  pipeline: Pipeline,
  queue: string,
): (message: QueuedDelivery) => Promise<QueuedRecord[]> {
  const mask = createMask(pipeline.mask);
  const masked = createRecordMask(mask);
  const times = createEventTimes(
    { ...ports, telemetry: SILENT, mask, masked },
    { pipeline, queue },
  );
  return async (message) => {
    const delivery: Delivery = { ...message, receipt: "", traceHeader: null, movedFrom: null };
    const inFlight = asInFlight(delivery, ports.clock);
    const { records } = decodeDelivery(pipeline, delivery);
    const timed = await Promise.all(records.map((record) => times.resolve(record, inFlight)));
    return timed.map(({ record }) => record); // Q2
  };
}

/** A message that is looked at as if it were in flight; nothing renews or aborts it. */
function asInFlight(delivery: Delivery, clock: Clock): InFlightDelivery {
  const receivedAt = clock.now();
  return {
    delivery,
    receivedAt,
    leaseSince: receivedAt,
    trace: { context: null, traceId: null },
    receive: null,
    processed: null,
    signal: new AbortController().signal,
    running: null,
    alive: () => true,
    abort: () => undefined,
    drop: () => undefined,
  };
}
