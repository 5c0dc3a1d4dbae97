// Proof samples: the records that a handler is proved on, as messages of a queue.
//   A1. A sample has the same body in every run, so that its key is the same in every run.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { md5Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import { decodeS3Record } from "../../core/events/decode/s3-notification.ts";
import { buildEnvelope, envelopeKey } from "../../core/events/envelope.ts";
import { epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { OwnDecoding } from "../../ingest/spec/own-source.ts";
import { decodeOwn } from "../../ingest/stages/decode-own.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

/** An object of the pipeline's bucket. */
export interface ObjectSample {
  readonly key: string;
  readonly body: string | Uint8Array;
}

/** The message of a producer. */
export interface MessageSample {
  readonly payload: JsonObject;
  /** Default: derived from the sample's position. */
  readonly dedupeKey?: string;
  /** `<org>.<domain>.<pipeline>`. */
  readonly source?: string;
  readonly eventTime?: string;
}

/** A message in your own format: text as it is, any other value as JSON. */
export interface OwnSample {
  readonly body: JsonValue;
}

/** A record to prove a handler on: an object or a message, as the pipeline's source has. */
export type ProofSample = ObjectSample | MessageSample | OwnSample;

/** A sample as a record of the simulated world. */
export interface ProofRecord {
  /** Its name in the simulated queue. */
  readonly name: string;
  /** Its name in reports. */
  readonly title: string;
  readonly body: string;
  /** `context.key` of its handler. */
  readonly identity: string;
  /** Other texts that identify this record. */
  readonly otherKeys: readonly string[];
  readonly group: string;
}

export interface ProofInput {
  readonly records: readonly ProofRecord[];
  readonly objects: ObjectSource;
}

const SOURCE = "sample.of.proof";
const EVENT_TIME = "2030-01-01T00:00:00.000Z";
const BUCKET = "samples";

export function proofInput(pipeline: Pipeline, samples: readonly ProofSample[]): ProofInput {
  const objects = new Map<string, Uint8Array>();
  const { contents, bucket, prefix, own } = pipeline.source;
  const records = samples.map((sample, at) => {
    if (own !== null) {
      if (!("body" in sample)) reject("reads own messages, so its samples are { body }");
      return ownRecord(pipeline.name, own, sample, at + 1);
    }
    if (contents === "messages") {
      if (!("payload" in sample)) reject("reads messages, so its samples are { payload }");
      return messageRecord(sample, at + 1);
    }
    if (!("key" in sample)) reject("reads objects, so its samples are { key, body }");
    const key = sample.key.startsWith(prefix) ? sample.key : `${prefix}${sample.key}`;
    const { body } = sample;
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const record = objectRecord({ key, bytes, at: at + 1, bucket: bucket ?? BUCKET });
    objects.set(`${key} v${at + 1}`, bytes); // A1
    return record;
  });
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const keyed = records.map((record) => {
    const { otherKeys, identity } = record;
    return { ...record, otherKeys: [...otherKeys, recordKey(scope, identity)] };
  });
  return { records: keyed, objects: objectsOf(objects) };
}

function reject(reason: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", `the pipeline ${reason}`);
}

function messageRecord(sample: MessageSample, at: number): ProofRecord {
  const { payload, dedupeKey = `sample-${at}`, source = SOURCE, eventTime = EVENT_TIME } = sample;
  const built = buildEnvelope({ source, dedupeKey, eventTime, payload });
  if (built.kind === "invalid") {
    const problems = built.problems.map(({ path, reason }) => `${path} ${reason}`).join("; ");
    throw new TidegateError("TG_CONFIG_INVALID", `sample ${at} is not a message: ${problems}`);
  }
  return {
    name: dedupeKey,
    title: dedupeKey,
    body: built.value.body,
    identity: envelopeKey(source, dedupeKey),
    otherKeys: [built.value.envelope.event_id, ...(isDistinctive(dedupeKey) ? [dedupeKey] : [])],
    group: "samples",
  };
}

function ownRecord(
  pipeline: string,
  own: OwnDecoding,
  sample: OwnSample | ObjectSample,
  at: number,
): ProofRecord {
  if (typeof own.key === "string") {
    reject(
      `takes its key from the ${own.key}, which samples do not have; prove it with another key`,
    );
  }
  const body = typeof sample.body === "string" ? sample.body : JSON.stringify(sample.body);
  const decoded = decodeOwn(pipeline, own, sampleDelivery(body));
  if (decoded.kind === "unusable" || decoded.key === null) {
    const reason = decoded.kind === "unusable" ? decoded.reason : "it has no key";
    throw new TidegateError("TG_CONFIG_INVALID", `sample ${at} is not a message: ${reason}`);
  }
  const { key, identity } = decoded;
  const otherKeys = isDistinctive(key) ? [key] : [];
  return { name: `sample-${at}`, title: key, body, identity, otherKeys, group: "samples" };
}

function sampleDelivery(body: string): Delivery {
  return {
    messageId: "",
    receipt: "",
    body,
    attributes: {},
    traceHeader: null,
    groupId: null,
    sentAt: epochMs(0),
    receiveCount: 1,
    movedFrom: null,
  };
}

/** A short key such as "7" also occurs in unrelated texts. */
const DISTINCTIVE_CHARS_MIN = 6;

function isDistinctive(key: string): boolean {
  return key.length >= DISTINCTIVE_CHARS_MIN;
}

interface SampleObject {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly bucket: string;
}

function objectRecord({ key, bytes, at, bucket }: SampleObject): ProofRecord {
  const name = `sample-${at}`;
  const sequencer = (0x1000_0000 + at).toString(16).toUpperCase();
  const record = {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    awsRegion: "us-east-1",
    eventTime: EVENT_TIME,
    eventName: "ObjectCreated:Put",
    responseElements: { "x-amz-request-id": name },
    s3: {
      bucket: { name: bucket },
      object: {
        key: encodeURIComponent(key).replaceAll("%20", "+"),
        sequencer,
        size: bytes.byteLength,
        eTag: md5Hex(bytes),
        versionId: `v${at}`,
      },
    },
  };
  const decoded = decodeS3Record(record as never, "", null);
  if (decoded.kind !== "event")
    reject(`has a sample with the key ${key}, which S3 does not accept`);
  const identity = decoded.event.event_key;
  const body = JSON.stringify({ Records: [record] });
  return { name, title: key, body, identity, otherKeys: [], group: "samples" };
}

function objectsOf(objects: ReadonlyMap<string, Uint8Array>): ObjectSource {
  return {
    async open({ key, versionId }: ObjectPin): Promise<OpenedObject> {
      const bytes = objects.get(`${key} ${versionId}`);
      if (bytes === undefined) return { kind: "missing" };
      return {
        kind: "opened",
        etag: md5Hex(bytes),
        versionId,
        lastModified: null,
        metadata: {},
        tags: async () => ({}),
        bytes: {
          size: bytes.byteLength,
          async *stream() {
            yield bytes;
          },
          range: async (start, end) => bytes.slice(start, end),
        },
      };
    },
  };
}
