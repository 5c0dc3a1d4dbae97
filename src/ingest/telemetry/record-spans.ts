// Record spans: the spans below the `process` span of one record.
//   S1. A record without a process span, because nothing is traced, costs nothing here.
//   S2. A span of an object shows its key masked, like every text about the record. The key of a
//       claim check is not shown: it is not the key of the record.
//   S3. Requests to S3 are counted whether or not they are traced.

import { TidegateError } from "../../core/errors.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { ByteSource } from "../../ports/rows.ts";
import type { Span, SpanOptions, Telemetry } from "../../ports/telemetry.ts";
import type { ClaimOutcome } from "../stages/claim.ts";
import type { CommitOutcome } from "../stages/commit.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { MESSAGING_SYSTEM, CONSUMER_METRICS as METRICS } from "./metrics.ts";
import type { RecordMask } from "./record-mask.ts";
import { NO_SPAN } from "./silent-telemetry.ts";

/** Starts a span below the record's process span (S1). */
export function childSpan(
  telemetry: Telemetry,
  { span }: WorkRecord,
  name: string,
  options: Omit<SpanOptions, "parent"> = { kind: "internal" },
): Span {
  return span == null ? NO_SPAN : telemetry.span(name, { ...options, parent: span });
}

/** `error.type` of a thrown value: a code of Tidegate, or else the name of its class. */
export function thrownType(error: unknown): string {
  if (error instanceof TidegateError) return error.code;
  return error instanceof Error ? error.name : "unknown";
}

/** Runs a call within a span, which ends with it. */
export async function withinSpan<T>(span: Span, call: () => Promise<T>): Promise<T> {
  try {
    const result = await call();
    span.end();
    return result;
  } catch (error) {
    span.end({ errorType: thrownType(error) });
    throw error;
  }
}

/** The attributes that every span about a queue has when it starts. */
export function messagingAttributes(queue: string, name: string, type: string) {
  return {
    "messaging.operation.name": name,
    "messaging.operation.type": type,
    "messaging.system": MESSAGING_SYSTEM,
    "messaging.destination.name": queue,
  };
}

interface ReadPorts {
  readonly telemetry: Telemetry;
  readonly masked: RecordMask;
}

/** The same objects, with the reads of one record counted and traced (S3). */
export function observedObjects<Objects extends ObjectSource | null>(
  ports: ReadPorts,
  objects: Objects,
  record: WorkRecord,
): Objects | ObjectSource {
  if (objects === null) return objects;
  return {
    async open(pin, signal) {
      const isWhole =
        pin.expectedBytes != null && pin.expectedBytes <= (objects.bufferedBytesMax ?? -1);
      const request = begin(ports, record, pin, isWhole ? "GetObject" : "HeadObject");
      let opened: OpenedObject;
      try {
        opened = await objects.open(pin, signal);
      } catch (error) {
        request.end({ errorType: thrownType(error) });
        throw error;
      }
      request.end(opened.kind === "opened" ? {} : { errorType: opened.kind });
      // Bytes that came with the opening take no request (O4 of object-source.ts).
      if (opened.kind !== "opened" || opened.bufferedBytes !== undefined) return opened;
      return { ...opened, bytes: observedBytes(ports, opened.bytes, record, pin) };
    },
  };
}

function begin({ telemetry, masked }: ReadPorts, record: WorkRecord, pin: ObjectPin, call: string) {
  telemetry.count(METRICS.s3Requests.name, 1, { action: call }); // S3
  if (record.span == null) return NO_SPAN; // S1
  const { object } = record;
  const own = object !== null && object.bucket === pin.bucket && object.key === pin.key;
  const shown = own ? masked.objectOf(record, masked.secretsOf(record)) : null; // S2
  return childSpan(telemetry, record, `S3/${call}`, {
    kind: "client",
    attributes: {
      "rpc.system": "aws-api",
      "rpc.service": "S3",
      "rpc.method": call,
      "aws.s3.bucket": shown?.bucket ?? pin.bucket,
      ...(shown !== null && { "aws.s3.key": shown.key }),
    },
  });
}

function observedBytes(
  ports: ReadPorts,
  bytes: ByteSource,
  record: WorkRecord,
  pin: ObjectPin,
): ByteSource {
  return {
    size: bytes.size,
    stream(signal) {
      const span = begin(ports, record, pin, "GetObject");
      const chunks = bytes.stream(signal);
      return record.span == null ? chunks : untilRead(chunks, span);
    },
    async range(start, end, signal) {
      const span = begin(ports, record, pin, "GetObject");
      return withinSpan(span, () => bytes.range(start, end, signal));
    },
  };
}

/** Ends the span when the stream ends, fails or is closed. */
async function* untilRead(chunks: AsyncIterable<Uint8Array>, span: Span) {
  let failure: { errorType?: string } = {};
  try {
    yield* chunks;
  } catch (error) {
    failure = { errorType: thrownType(error) };
    throw error;
  } finally {
    span.end(failure);
  }
}

/** How the span of a claim or a commit ends: an error only if the ledger or the sink failed. */
export function spanEndOf(result: ClaimOutcome | CommitOutcome) {
  const attributes = { "tidegate.result": result.kind };
  switch (result.kind) {
    case "unavailable":
    case "failed":
      return { errorType: thrownType(result.error), attributes };
    case "fenced":
    case "lost":
      return { errorType: "lease-lost", attributes };
    default:
      return { attributes };
  }
}
