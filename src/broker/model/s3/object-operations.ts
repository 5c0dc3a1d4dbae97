// Object operations: put, find, tag and delete objects; each with its event in the same step.
//   O1. Everything is read before anything is changed, so an operation that meets a damaged object
//       fails without a partial change.
//   O2. Several deletions are independent: a damaged object fails only its own entry.

import { isCorruption } from "../../../core/errors.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { type BucketRecord, bucketOf } from "./bucket.ts";
import type { EventName } from "./event-message.ts";
import { notify } from "./notify.ts";
import { readDetail } from "./object-detail.ts";
import {
  addVersion,
  checkConditions,
  checkVersionId,
  currentOf,
  dropVersion,
  findVersion,
  publicVersionId,
} from "./object-versions.ts";
import type { S3Fault } from "./s3-fault.ts";
import type {
  DeletedObject,
  DeleteEntry,
  ObjectView,
  Origin,
  PutObjectInput,
  S3Input,
  S3Value,
  WrittenObject,
} from "./s3-operations.ts";

export function stepPutObject(
  state: BrokerState,
  step: ModelStep,
  input: PutObjectInput,
): Result<WrittenObject, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const { key, event, origin } = input;
  const refused = checkConditions(step, bucket, key, input.conditions);
  if (refused !== null) return refused;
  const { object, dropped } = addVersion(state, step, bucket, { ...input, marker: false });
  notify(state, step, bucket, origin, { ...object, name: `ObjectCreated:${event}` });
  const { etag, modifiedAt } = object;
  return succeed({ version: publicVersionId(bucket, object.version), etag, modifiedAt, dropped });
}

export function findObject(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, key, version }: S3Input<"findObject">,
): Result<ObjectView, S3Fault> {
  const bucketResult = bucketOf(state, name);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const objectResult = findVersion(step, bucket, key, version);
  if (!objectResult.ok) return objectResult;
  const object = objectResult.value;
  return succeed({ object, version: publicVersionId(bucket, object.version) });
}

export function stepDeleteObjects(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, entries, origin }: S3Input<"deleteObjects">,
): Result<S3Value<"deleteObjects">, S3Fault> {
  const bucketResult = bucketOf(state, name);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const dropped: string[] = [];
  const damage: unknown[] = [];
  const results = entries.map((entry) => {
    const deletion = { state, step, bucket, origin, dropped };
    try {
      return entry.version === null
        ? deleteCurrent(deletion, entry)
        : deleteVersion(deletion, entry, entry.version);
    } catch (error) {
      if (!isCorruption(error)) throw error;
      damage.push(error);
      return failed(entry, UNREADABLE); // O1, O2
    }
  });
  return succeed({ results, dropped, damage });
}

const UNREADABLE: S3Fault = {
  code: "InternalError",
  message: "We encountered an internal error. Please try again.",
};

/** S3 compares an ETag with the current version; a deletion by version id has no such condition. */
const UNSUPPORTED_CONDITION: S3Fault = {
  code: "NotImplemented",
  message: "A header you provided implies functionality that is not implemented.",
  fields: { Header: "If-Match" },
};

interface Deletion {
  readonly state: BrokerState;
  readonly step: ModelStep;
  readonly bucket: BucketRecord;
  readonly origin: Origin;
  readonly dropped: string[];
}

function deleteCurrent(deletion: Deletion, entry: DeleteEntry): DeletedObject {
  const { state, step, bucket, origin, dropped } = deletion;
  const { key, ifMatch } = entry;
  const refused = checkConditions(step, bucket, key, { ifMatch, ifAbsent: false });
  if (refused !== null) return failed(entry, refused.fault);
  if (bucket.versioning === null) {
    const current = currentOf(step, bucket, key);
    // Deleting a missing object sends no event, because nothing changes.
    if (current !== undefined) {
      dropped.push(...dropVersion(step, current));
      notifyRemoved(deletion, "ObjectRemoved:Delete", key, null);
    }
    return { key, version: null, marker: null, fault: null };
  }
  const added = addVersion(state, step, bucket, {
    key,
    marker: true,
    pieces: [],
    etag: "",
    storageClass: "STANDARD",
    detail: "",
  });
  dropped.push(...added.dropped);
  const { version } = added.object;
  const name = "ObjectRemoved:DeleteMarkerCreated";
  notify(state, step, bucket, origin, { ...added.object, name });
  return { key, version: null, marker: { version }, fault: null };
}

function deleteVersion(deletion: Deletion, entry: DeleteEntry, version: string): DeletedObject {
  const { step, bucket, dropped } = deletion;
  const { key } = entry;
  const bad = checkVersionId(version);
  if (bad !== null) return failed(entry, bad.fault);
  if (entry.ifMatch !== null) return failed(entry, UNSUPPORTED_CONDITION);
  const object = step.objects.version(bucket.number, key, version);
  if (object === undefined) return { key, version, marker: null, fault: null };
  dropped.push(...dropVersion(step, object));
  notifyRemoved(deletion, "ObjectRemoved:Delete", key, version);
  return { key, version, marker: object.marker ? { version } : null, fault: null };
}

function notifyRemoved(
  { state, step, bucket, origin }: Deletion,
  name: EventName,
  key: string,
  version: string | null,
): void {
  const event = { name, key, version, sizeBytes: 0, etag: "", seq: state.nextSeq() };
  notify(state, step, bucket, origin, event);
}

function failed({ key, version }: DeleteEntry, fault: S3Fault): DeletedObject {
  return { key, version, marker: null, fault };
}

export function setObjectTags(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"setObjectTags">,
): Result<S3Value<"setObjectTags">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const objectResult = findVersion(step, bucket, input.key, input.version);
  if (!objectResult.ok) return objectResult;
  const object = objectResult.value;
  const detail = JSON.stringify({ ...readDetail(object.detail), tags: input.tags ?? {} });
  step.emit({ kind: "put-object", object: { ...object, detail } });
  const name = input.tags === null ? "ObjectTagging:Delete" : "ObjectTagging:Put";
  notify(state, step, bucket, input.origin, { ...object, name });
  return succeed({ version: publicVersionId(bucket, object.version) });
}
