// Decode limit: a decoder that never returns blocks the process only once.
//   L1. A synchronous function that never returns blocks the event loop, and nothing in the process
//       can end it. When the process is killed, its messages are redelivered.
//   L2. A redelivered message is suspect, so the user's functions get DECODE_MS_MAX for it. Beyond
//       that, the message is dead-lettered as undecodable. First deliveries pay nothing.
//   L3. Its record is identified by its bytes, because its key may be what never returned (D2 of
//       decode.ts).

import { type DurationMs, seconds } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { CallLimit } from "../../ports/call-limit.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { type DecodedDelivery, type DecodingPipeline, decodeDelivery } from "./decode.ts";
import { bodyIdentity } from "./decode-own.ts";

/** Decoding takes microseconds; this allows for a busy machine. */
export const DECODE_MS_MAX: DurationMs = seconds(5);

export function createDecoder(
  limit: CallLimit | null,
  pipeline: DecodingPipeline,
): (delivery: Delivery) => DecodedDelivery {
  if (limit === null || pipeline.source.own === null) {
    return (delivery) => decodeDelivery(pipeline, delivery);
  }
  return (delivery) => {
    if (delivery.receiveCount === 1) return decodeDelivery(pipeline, delivery); // L2
    const decoded = limit.run(DECODE_MS_MAX, () => decodeDelivery(pipeline, delivery));
    return decoded === "too-long" ? tooLong(pipeline, delivery) : decoded;
  };
}

function tooLong({ name, generation }: DecodingPipeline, delivery: Delivery): DecodedDelivery {
  const identity = bodyIdentity(delivery.body); // L3
  const reason = `the functions of source took longer than ${DECODE_MS_MAX} ms`;
  return {
    trace: { context: null, traceId: null },
    ignored: [],
    records: [
      {
        key: recordKey({ pipeline: name, generation }, identity),
        identity,
        businessKey: null,
        object: null,
        eventTime: delivery.sentAt,
        content: { kind: "unusable", reason, errorClass: "undecodable" },
        original: { body: delivery.body },
      },
    ],
  };
}
