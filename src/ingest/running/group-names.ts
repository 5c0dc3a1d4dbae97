// Group names: names the group of a record in the pool. Limits apply to each group.
//   G1. On a FIFO queue the group is the message group, whatever the pipeline says: order is kept.
//   G2. If the key function throws, the record gets its own group and the error is logged; the
//       record is still processed. What the error quotes of the record is masked.

import { unreachable } from "../../core/assert.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { messageOf } from "../policy/error-text.ts";
import type { HandlerEvent, Pipeline } from "../spec/define-pipeline.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { readObjectEvent } from "../stages/read-event.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";

const ONE_GROUP = "";
const NO_SOURCES = { objects: null, rows: null };

export function createGroupNames(
  ports: {
    readonly telemetry: Telemetry;
    readonly mask: Mask;
    readonly masked: RecordMask;
  },
  pipeline: Pipeline,
  fifo: boolean,
): (record: WorkRecord, inFlight: InFlightDelivery) => string {
  const { telemetry, mask, masked } = ports;
  const { key } = pipeline.concurrency;
  if (fifo) return (_record, { delivery }) => delivery.groupId ?? ONE_GROUP; // G1
  if (key === null) return () => ONE_GROUP;
  return (record, inFlight) => {
    const event = eventFor(pipeline, record, inFlight);
    if (event === null) return record.key;
    try {
      return `key ${textOf(key(event))}`;
    } catch (error) {
      const reason = messageOf(error, (text) => mask.text(text, masked.secretsOf(record)));
      telemetry.log("warn", "concurrency.key threw", { reason }); // G2
      return record.key;
    }
  };
}

/** A promise has the same text for every record, and its rejection would be unhandled (G2). */
function textOf(key: unknown): string {
  if (typeof key === "string" || typeof key === "number") return String(key);
  if (key instanceof Promise) key.catch(() => undefined);
  throw new TypeError("the key is neither a string nor a number");
}

/** The event for a key function: its fields, without access to the object's content. */
function eventFor(
  pipeline: Pipeline,
  { content }: WorkRecord,
  inFlight: InFlightDelivery,
): HandlerEvent | null {
  switch (content.kind) {
    case "object":
      return readObjectEvent(pipeline, content.event, NO_SOURCES, inFlight.signal);
    case "message":
      return { envelope: content.envelope, payload: content.envelope.payload };
    case "own":
      return content.input;
    case "unusable":
      return null;
    default:
      return unreachable(content);
  }
}
