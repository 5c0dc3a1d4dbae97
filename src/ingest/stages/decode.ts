// Decode: turns a delivery into its records.
//   D1. Decode drops nothing. An unreadable part becomes a record that can only be dead-lettered,
//       so that every delivery takes the same path.
//   D2. The key of a record comes from the body alone, because attributes may be lost in transit. A
//       record without a key gets one from all its bytes, so that it never shares one.
//   D3. Objects outside the pipeline's bucket and prefix are ignored as "elsewhere" and
//       acknowledged.

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
  /** Can only be dead-lettered (D1). */
  | { readonly kind: "unusable"; readonly reason: string };

/** One unit of work. */
export interface WorkRecord {
  readonly key: RecordKey;
  /** The same in every pipeline and generation, unlike `key`; for logs and reports. */
  readonly identity: string;
  readonly object: ObjectRef | null;
  readonly eventTime: EpochMs;
  readonly content: RecordContent;
  /** As received, for dossiers. Mask it before showing it. */
  readonly original: JsonValue;
}

export interface DecodedDelivery {
  /** The trace of the delivery, from its attributes, its body or its trace header. */
  readonly trace: DeliveryTrace;
  readonly records: readonly WorkRecord[];
  /** Why records were ignored: S3's test event, or an object outside the source (D3). */
  readonly ignored: readonly ("test-event" | "elsewhere")[];
}

/** The parts of a pipeline that decode depends on. */
export type DecodingPipeline = Pick<Pipeline, "name" | "generation" | "source">;

export function decodeDelivery(pipeline: DecodingPipeline, delivery: Delivery): DecodedDelivery {
  const decoded = decodeBody(delivery.body);
  const { attributes, traceHeader } = delivery;
  const trace = extractTrace({ attributes, layers: decoded.layers, traceHeader });
  const context: DecodeContext = { pipeline, delivery, trace };
  switch (decoded.kind) {
    case "test-event":
      return { trace, records: [], ignored: ["test-event"] };
    case "envelope":
      return { trace, records: [messageRecord(context, decoded.envelope)], ignored: [] };
    case "undecodable":
      return {
        trace,
        records: [bodyRecord(context, textOfProblems(decoded.problems))],
        ignored: [],
      };
    case "records":
      return objectRecords(context, decoded.records);
    default:
      return unreachable(decoded);
  }
}

interface DecodeContext {
  readonly pipeline: DecodingPipeline;
  readonly delivery: Delivery;
  readonly trace: DeliveryTrace;
}

function objectRecords(context: DecodeContext, decoded: readonly DecodedRecord[]): DecodedDelivery {
  const { bucket, prefix, contents } = context.pipeline.source;
  const records: WorkRecord[] = [];
  const ignored: "elsewhere"[] = [];
  for (const each of decoded) {
    if (each.kind === "undecodable") {
      const identity = `undecodable:${sha256Hex(JSON.stringify(each.original))}`; // D2
      records.push(unusable(context, identity, textOfProblems(each.problems), each.original));
      continue;
    }
    const { event, original } = each;
    const outside = bucket !== null && event.bucket !== bucket;
    if (outside || !event.key.startsWith(prefix)) ignored.push("elsewhere");
    else if (contents === "objects") records.push(objectRecord(context, event, original));
    else {
      const reason =
        'the message is an S3 event, but the pipeline expects messages; set contents: "objects"';
      records.push(unusable(context, event.event_key, reason, original));
    }
  }
  return { trace: context.trace, records, ignored };
}

function objectRecord(
  context: DecodeContext,
  decoded: ObjectEvent,
  original: JsonValue,
): WorkRecord {
  const { traceId } = context.trace;
  const event = traceId === null ? decoded : { ...decoded, trace_id: traceId };
  const { bucket, key, sequencer } = event;
  return {
    key: keyOf(context, event.event_key),
    identity: event.event_key,
    object: { bucket, key, sequencer },
    eventTime: instantOf(event.event_time),
    content: { kind: "object", event },
    original,
  };
}

function messageRecord(context: DecodeContext, envelope: MessageEnvelope): WorkRecord {
  const identity = envelopeKey(envelope.event_source, envelope.dedupe_key);
  if (context.pipeline.source.contents === "objects") {
    return unusable(
      context,
      identity,
      "the message is not an S3 event, but the pipeline expects objects",
      envelope,
    );
  }
  return {
    key: keyOf(context, identity),
    identity,
    object: null,
    eventTime: instantOf(envelope.event_time),
    content: { kind: "message", envelope },
    original: envelope,
  };
}

/** The record of an unreadable body: its key is a hash of the whole body (D2). */
function bodyRecord(context: DecodeContext, reason: string): WorkRecord {
  const { body } = context.delivery;
  return unusable(context, `undecodable:${sha256Hex(body)}`, reason, body);
}

function unusable(
  context: DecodeContext,
  identity: string,
  reason: string,
  original: JsonValue,
): WorkRecord {
  return {
    key: keyOf(context, identity),
    identity,
    object: null,
    eventTime: context.delivery.sentAt,
    content: { kind: "unusable", reason },
    original,
  };
}

function keyOf({ pipeline }: DecodeContext, identity: string): RecordKey {
  const { name, generation } = pipeline;
  return recordKey({ pipeline: name, generation }, identity);
}

/** Decoders have checked the text before. */
function instantOf(text: string): EpochMs {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : (0 as EpochMs);
}

function textOfProblems(problems: readonly Problem[]): string {
  return problems
    .map(({ path, reason }) => `${path === "" ? "the body" : path} ${reason}`)
    .join("; ");
}
