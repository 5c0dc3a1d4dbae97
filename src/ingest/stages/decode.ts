// Decode: turns a delivery into its records.
//   D1. Decode drops nothing. An unreadable part becomes a record that can only be dead-lettered,
//       so that every delivery takes the same path.
//   D2. The key of a record comes from the body alone, because attributes may be lost in transit,
//       unless a pipeline names an id of the queue as its key. A record without a key gets one from
//       all its bytes, so that it never shares one.
//   D3. Objects outside the pipeline's bucket and prefix are ignored as "elsewhere" and
//       acknowledged.
//   D4. Removed objects are ignored as if S3 had not reported them, unless the pipeline wants them:
//       they neither advance the object's sequencer nor touch its rows. A redriven dead letter is
//       not ignored, because its redrive waits for an outcome; handle then runs no handler.
//   D5. A withheld dead letter that was sent back is its own record again, not an unknown body.
//       Its body is enough to recognise it, as D2 demands.

import { unreachable } from "../../core/assert.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { parseInstant } from "../../core/encoding/rfc3339.ts";
import { decodeBody } from "../../core/events/decode/decode.ts";
import type { DecodedRecord } from "../../core/events/decode/s3-notification.ts";
import { envelopeKey, type MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import { objectStateOf } from "../../core/events/object-identity.ts";
import type { Problem } from "../../core/events/problem.ts";
import { extractTrace, type TraceContext } from "../../core/events/trace-context.ts";
import type { EpochMs } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { ObjectRef, RecordKey } from "../../ports/record.ts";
import { isTidegateAttribute, transportKeyIn } from "../dead-letters/dead-letter.ts";
import { withheldIdentity } from "../dead-letters/withheld-body.ts";
import {
  type QuarantineRef,
  redriveIdentity,
  redrivenSet,
  withoutSet,
} from "../quarantine/quarantine.ts";
import type { DeliveryTrace } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { OwnDecoding, OwnMessageInput } from "../spec/own-source.ts";
import { bodyIdentity, decodeOwn } from "./decode-own.ts";
import { GOVERNANCE_CLASS } from "./govern.ts";

export type RecordContent =
  | {
      readonly kind: "object";
      readonly event: ObjectEvent;
      /** Set if the record is the redrive of quarantined rows of the object. */
      readonly redriven?: QuarantineRef;
    }
  | { readonly kind: "message"; readonly envelope: MessageEnvelope }
  /** A message in the user's own format, whose body is not validated yet. */
  | { readonly kind: "own"; readonly input: OwnMessageInput<unknown> }
  /** Can only be dead-lettered (D1). */
  | {
      readonly kind: "unusable";
      readonly reason: string;
      /** What user code says about a body that no mask applies to; it may quote the body. */
      readonly detail?: string;
      readonly errorClass: string;
    };

/** One unit of work. */
export interface WorkRecord {
  readonly key: RecordKey;
  /** The same in every pipeline and generation, unlike `key`; for logs and reports. */
  readonly identity: string;
  /** The key that the producer knows the record by; null if it has none. Mask it, too. */
  readonly businessKey: string | null;
  /** The business key, if it is an id of the queue, which a redrive must carry. */
  readonly transportKey?: string | null;
  readonly object: ObjectRef | null;
  readonly eventTime: EpochMs;
  /** The stream with its own event time; absent until the event-time stage has set it. */
  readonly partition?: string;
  readonly content: RecordContent;
  /** The context of its process span; absent without tracing. */
  readonly span?: TraceContext | null;
  /** As received, for dossiers. Mask it before showing it. */
  readonly original: JsonValue;
}

export interface DecodedDelivery {
  /** The trace of the delivery, from its attributes, its body or its trace header. */
  readonly trace: DeliveryTrace;
  readonly records: readonly WorkRecord[];
  /** Why records were ignored: see D3 and D4. */
  readonly ignored: readonly IgnoredReason[];
}

/** Why a record is acknowledged without being processed. */
export type IgnoredReason = "test-event" | "elsewhere" | "removed";

/** The parts of a pipeline that decode depends on. */
export type DecodingPipeline = Pick<Pipeline, "name" | "generation" | "source" | "onRemoved">;

export function decodeDelivery(pipeline: DecodingPipeline, delivery: Delivery): DecodedDelivery {
  const withheld = withheldIdentity(delivery.body);
  if (withheld !== null) return withheldRecord(pipeline, delivery, withheld); // D5
  if (pipeline.source.own !== null) return ownDelivery(pipeline, pipeline.source.own, delivery);
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

function withheldRecord(
  pipeline: DecodingPipeline,
  delivery: Delivery,
  identity: string,
): DecodedDelivery {
  const trace = extractTrace({ attributes: {}, layers: [], traceHeader: delivery.traceHeader });
  const reason = "governance withheld the payload; send the message again from its producer";
  const record = unusable({ pipeline, delivery, trace }, identity, reason, null);
  const content = { kind: "unusable", reason, errorClass: GOVERNANCE_CLASS } as const;
  const transportKey = transportKeyIn(delivery);
  return { trace, records: [{ ...record, content, transportKey }], ignored: [] };
}

/** A delivery of a source with a key: one record, whatever the body looks like. */
function ownDelivery(
  pipeline: DecodingPipeline,
  own: OwnDecoding,
  delivery: Delivery,
): DecodedDelivery {
  const decoded = decodeOwn(pipeline.name, own, delivery);
  const { layers, identity, key: businessKey, transportKey, eventTime, original } = decoded;
  const { attributes, traceHeader } = delivery;
  const trace = extractTrace({ attributes, layers, traceHeader });
  const key = keyOf({ pipeline, delivery, trace }, identity);
  const names = { key, identity, businessKey, transportKey, object: null };
  return { trace, records: [{ ...names, eventTime, content: decoded, original }], ignored: [] };
}

interface DecodeContext {
  readonly pipeline: DecodingPipeline;
  readonly delivery: Delivery;
  readonly trace: DeliveryTrace;
}

function objectRecords(context: DecodeContext, decoded: readonly DecodedRecord[]): DecodedDelivery {
  const { bucket, prefix, contents } = context.pipeline.source;
  const records: WorkRecord[] = [];
  const ignored: IgnoredReason[] = [];
  const ignoresRemoved = context.pipeline.onRemoved === "ignore" && !isMarked(context.delivery);
  for (const each of decoded) {
    if (each.kind === "undecodable") {
      const identity = `undecodable:${sha256Hex(JSON.stringify(each.original))}`; // D2
      records.push(unusable(context, identity, textOfProblems(each.problems), each.original));
      continue;
    }
    const { event, original } = each;
    const outside = bucket !== null && event.bucket !== bucket;
    if (outside || !event.key.startsWith(prefix)) ignored.push("elsewhere");
    else if (event.kind === "removed" && ignoresRemoved)
      ignored.push("removed"); // D4
    else if (contents === "objects") records.push(objectRecord(context, event, original));
    else {
      const reason =
        'the message is an S3 event, but the pipeline expects messages; set contents: "objects"';
      records.push(unusable(context, event.event_key, reason, original));
    }
  }
  return { trace: context.trace, records, ignored };
}

/** Whether the message is a dead letter of Tidegate that was sent back. */
function isMarked({ attributes }: Delivery): boolean {
  return Object.keys(attributes).some(isTidegateAttribute);
}

function objectRecord(
  context: DecodeContext,
  decoded: ObjectEvent,
  original: JsonValue,
): WorkRecord {
  const { traceId } = context.trace;
  const redriven = redrivenSet(decoded);
  const plain = redriven === null ? decoded : withoutSet(decoded);
  const event = traceId === null ? plain : { ...plain, trace_id: traceId };
  const { bucket, key, sequencer } = event;
  // A redrive adds rows to a version that was applied before: nothing is to be ordered.
  const object = redriven === null ? objectRefOf(event) : { bucket, key, sequencer };
  const identity = redriven === null ? event.event_key : redriveIdentity(redriven);
  return {
    key: keyOf(context, identity),
    identity,
    businessKey: null,
    object,
    eventTime: instantOf(event.event_time),
    content: { kind: "object", event, ...(redriven !== null && { redriven }) },
    original,
  };
}

function objectRefOf(event: ObjectEvent): ObjectRef {
  const { bucket, key, sequencer, source_kind } = event;
  const state = objectStateOf(event);
  if (state === null) return { bucket, key, sequencer };
  const observed = source_kind === "listing" || source_kind === "head";
  return { bucket, key, sequencer, state, ...(observed && sequencer === null && { listed: true }) };
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
    businessKey: envelope.dedupe_key,
    object: null,
    eventTime: instantOf(envelope.event_time),
    content: { kind: "message", envelope },
    original: envelope,
  };
}

/** The record of an unreadable body: its key is a hash of the whole body (D2). */
function bodyRecord(context: DecodeContext, reason: string): WorkRecord {
  const { body } = context.delivery;
  return unusable(context, bodyIdentity(body), reason, body);
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
    businessKey: null,
    object: null,
    eventTime: context.delivery.sentAt,
    content: { kind: "unusable", reason, errorClass: "undecodable" },
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
