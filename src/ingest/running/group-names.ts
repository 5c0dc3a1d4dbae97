// Lane names: what records have in common that must not run side by side.
//   G1. On a FIFO queue it is the message group, whatever the pipeline says: order comes first.
//   G2. A key function that throws puts the record in a lane of its own and is told of; it never
//       keeps a record from being worked on. What it quotes of the record is masked.

import { unreachable } from "../../core/assert.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { messageOf } from "../policy/error-text.ts";
import type { HandlerEvent, Pipeline } from "../spec/define-pipeline.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { readObjectEvent } from "../stages/read-event.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";

const ONE_FOR_ALL = "";
const NOWHERE = { objects: null, rows: null };

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
  if (fifo) return (_record, { delivery }) => delivery.groupId ?? ONE_FOR_ALL; // G1
  if (key === null) return () => ONE_FOR_ALL;
  return (record, inFlight) => {
    const arrival = glimpse(pipeline, record, inFlight);
    if (arrival === null) return record.key;
    try {
      return `key ${textOf(key(arrival))}`;
    } catch (error) {
      const reason = mask.text(messageOf(error), masked.secretsOf(record));
      telemetry.log("warn", "concurrency.key threw", { reason }); // G2
      return record.key;
    }
  };
}

/** A promise would be the same text for every record, and its rejection nobody's to hear (G2). */
function textOf(key: unknown): string {
  if (typeof key === "string" || typeof key === "number") return String(key);
  if (key instanceof Promise) key.catch(() => undefined);
  throw new TypeError("it answered with something else than text");
}

/** The event as a key function sees it: what it tells, but nothing to read. */
function glimpse(
  pipeline: Pipeline,
  { content }: WorkRecord,
  inFlight: InFlightDelivery,
): HandlerEvent | null {
  switch (content.kind) {
    case "object":
      return readObjectEvent(pipeline, content.event, NOWHERE, inFlight.signal);
    case "message":
      return { envelope: content.envelope, payload: content.envelope.payload };
    case "unusable":
      return null;
    default:
      return unreachable(content);
  }
}
