// Decode: from a delivery to the records it carries.
//   D1. Nothing is dropped here. What cannot be read becomes a record too, one that can only be
//       dead-lettered, so that every delivery goes the same way.
//   D2. The key of a record comes from the body alone: attributes may be lost on the way. What has
//       no key of its own gets one from all its bytes, never one that it shares with others.
//   D3. Objects outside the pipeline's bucket and prefix are none of its business: they are named
//       "elsewhere" and acknowledged.

import { unreachable } from "../../core/assert.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { parseInstant } from "../../core/encoding/rfc3339.ts";
import { decodeBody } from "../../core/events/decode/decode.ts";
import type { DecodedRecord } from "../../core/events/decode/s3-notification.ts";
import { envelopeKey, type MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { Problem } from "../../core/events/problem.ts";
import { extractTrace } from "../../core/events/trace-context.ts";
import type { EpochMs } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { ObjectRef, RecordKey } from "../../ports/record.ts";
import type { DeliveryTrace } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";

export type RecordContent =
  | { readonly kind: "object"; readonly event: ObjectEvent }
  | { readonly kind: "message"; readonly envelope: MessageEnvelope }
  /** It can only be dead-lettered (D1). */
  | { readonly kind: "unusable"; readonly reason: string };

/** One unit of work. */
export interface WorkRecord {
  readonly key: RecordKey;
  /** What the record is the same by, whichever pipeline sees it; for logs and reports. */
  readonly identity: string;
  readonly object: ObjectRef | null;
  readonly eventTime: EpochMs;
  readonly content: RecordContent;
  /** As it came, for dossiers; to be masked before anybody sees it. */
  readonly original: JsonValue;
}

export interface DecodedDelivery {
  /** The trace that the delivery belongs to, wherever it was carried. */
  readonly trace: DeliveryTrace;
  readonly records: readonly WorkRecord[];
  /** Records that were left out, and why: S3's test event, or objects of elsewhere (D3). */
  readonly ignored: readonly ("test-event" | "elsewhere")[];
}

/** What decoding depends on. */
export type DecodingPipeline = Pick<Pipeline, "name" | "generation" | "source">;

/** Reads one delivery for one pipeline. */
export function decodeDelivery(pipeline: DecodingPipeline, delivery: Delivery): DecodedDelivery {
  const decoded = decodeBody(delivery.body);
  const { attributes, traceHeader } = delivery;
  const trace = extractTrace({ attributes, layers: decoded.layers, traceHeader });
  const site: Site = { pipeline, delivery, trace };
  switch (decoded.kind) {
    case "test-event":
      return { trace, records: [], ignored: ["test-event"] };
    case "envelope":
      return { trace, records: [messageRecord(site, decoded.envelope)], ignored: [] };
    case "undecodable":
      return { trace, records: [bodyRecord(site, told(decoded.problems))], ignored: [] };
    case "records":
      return objectRecords(site, decoded.records);
    default:
      return unreachable(decoded);
  }
}

interface Site {
  readonly pipeline: DecodingPipeline;
  readonly delivery: Delivery;
  readonly trace: DeliveryTrace;
}

function objectRecords(site: Site, decoded: readonly DecodedRecord[]): DecodedDelivery {
  const { bucket, prefix, contents } = site.pipeline.source;
  const records: WorkRecord[] = [];
  const ignored: "elsewhere"[] = [];
  for (const each of decoded) {
    if (each.kind === "undecodable") {
      const identity = `undecodable:${sha256Hex(JSON.stringify(each.original))}`; // D2
      records.push(unusable(site, identity, told(each.problems), each.original));
      continue;
    }
    const { event, original } = each;
    const outside = bucket !== null && event.bucket !== bucket;
    if (outside || !event.key.startsWith(prefix)) ignored.push("elsewhere");
    else if (contents === "objects") records.push(objectRecord(site, event, original));
    else {
      const reason = 'the message tells of an object; say contents: "objects" to take them';
      records.push(unusable(site, event.event_key, reason, original));
    }
  }
  return { trace: site.trace, records, ignored };
}

function objectRecord(site: Site, told: ObjectEvent, original: JsonValue): WorkRecord {
  const { traceId } = site.trace;
  const event = traceId === null ? told : { ...told, trace_id: traceId };
  const { bucket, key, sequencer } = event;
  return {
    key: keyOf(site, event.event_key),
    identity: event.event_key,
    object: { bucket, key, sequencer },
    eventTime: instantOf(event.event_time),
    content: { kind: "object", event },
    original,
  };
}

function messageRecord(site: Site, envelope: MessageEnvelope): WorkRecord {
  const identity = envelopeKey(envelope.event_source, envelope.dedupe_key);
  if (site.pipeline.source.contents === "objects") {
    return unusable(site, identity, "the message tells of no object", envelope);
  }
  return {
    key: keyOf(site, identity),
    identity,
    object: null,
    eventTime: instantOf(envelope.event_time),
    content: { kind: "message", envelope },
    original: envelope,
  };
}

/** A body of which nothing can be read: all of it is its key (D2). */
function bodyRecord(site: Site, reason: string): WorkRecord {
  const { body } = site.delivery;
  return unusable(site, `undecodable:${sha256Hex(body)}`, reason, body);
}

function unusable(site: Site, identity: string, reason: string, original: JsonValue): WorkRecord {
  return {
    key: keyOf(site, identity),
    identity,
    object: null,
    eventTime: site.delivery.sentAt,
    content: { kind: "unusable", reason },
    original,
  };
}

function keyOf({ pipeline }: Site, identity: string): RecordKey {
  const { name, generation } = pipeline;
  return recordKey({ pipeline: name, generation }, identity);
}

/** Decoders hand on no instant that they could not read. */
function instantOf(text: string): EpochMs {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : (0 as EpochMs);
}

function told(problems: readonly Problem[]): string {
  return problems
    .map(({ path, reason }) => `${path === "" ? "the body" : path} ${reason}`)
    .join("; ");
}
