// Object versions: how a version is found, added and removed.
//   V1. The newest version of a key is the current one; nothing else marks it.
//   V2. Without versioning, or while it is suspended, a write replaces the null version; all others
//       stay.
//   V3. A version id ends with the number of its version, so a listing can continue after a version
//       that was deleted since: clients that empty a bucket delete one page before they request the
//       next.

import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { Piece, StoredObject } from "../../../ports/broker/object-change.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import type { BucketRecord } from "./bucket.ts";
import { noSuchKey, noSuchVersion, type S3Fault, type S3Refusal, s3Refuse } from "./s3-fault.ts";
import type { WriteConditions } from "./s3-operations.ts";

export const NULL_VERSION = "null";
const ALL = Number.MAX_SAFE_INTEGER;
const VERSION_PATTERN = /^(null|[0-9a-f]{32})$/;
const SEQ_DIGITS = 14;
/** Matches ids with a number; older ids, which are fully random, have the 4 of a UUID there. */
const NUMBERED_PATTERN = /^[0-9a-f]{12}0[0-9a-f]{19}$/;

export function currentOf(
  step: ModelStep,
  bucket: BucketRecord,
  key: string,
): StoredObject | undefined {
  return step.objects.newest(bucket.number, key, ALL);
}

/** The version that a request refers to; a delete marker is refused as S3 does it. */
export function findVersion(
  step: ModelStep,
  bucket: BucketRecord,
  key: string,
  version: string | null,
): Result<StoredObject, S3Fault> {
  if (version === null) {
    const current = currentOf(step, bucket, key);
    if (current === undefined) return noSuchKey(key);
    if (!current.marker) return succeed(current);
    const refused = noSuchKey(key);
    return refuseWith({ ...refused.fault, marker: { version: current.version } });
  }
  const bad = checkVersionId(version);
  if (bad !== null) return bad;
  const object = step.objects.version(bucket.number, key, version);
  if (object === undefined) return noSuchVersion(key, version);
  if (!object.marker) return succeed(object);
  const refused = s3Refuse(
    "MethodNotAllowed",
    "The specified method is not allowed against this resource.",
    { Method: "GET", ResourceType: "DeleteMarker" },
  );
  return refuseWith({ ...refused.fault, marker: { version } });
}

export function checkVersionId(version: string, parameter = "versionId"): S3Refusal | null {
  if (VERSION_PATTERN.test(version)) return null;
  const fields = { ArgumentName: parameter, ArgumentValue: version };
  return s3Refuse("InvalidArgument", "Invalid version id specified", fields);
}

function newVersionId(step: ModelStep, seq: number): string {
  const drawn = step.newId().replaceAll("-", "");
  const number = seq.toString(16).padStart(SEQ_DIGITS, "0");
  return `${drawn.slice(0, 12)}0${drawn.slice(13, 18)}${number}`; // V3
}

/** The number of the version with this id, or null if the id does not contain it (V3). */
export function seqOfVersionId(version: string): number | null {
  if (!NUMBERED_PATTERN.test(version)) return null;
  return Number.parseInt(version.slice(-SEQ_DIGITS), 16);
}

/** The version id to return: null if the bucket was never versioned. */
export function publicVersionId(bucket: BucketRecord, version: string): string | null {
  return bucket.versioning === null && version === NULL_VERSION ? null : version;
}

export function checkConditions(
  step: ModelStep,
  bucket: BucketRecord,
  key: string,
  conditions: WriteConditions,
): S3Refusal | null {
  const { ifMatch, ifAbsent } = conditions;
  if (ifMatch === null && !ifAbsent) return null;
  const current = currentOf(step, bucket, key);
  const there = current !== undefined && !current.marker;
  if (ifAbsent && there) return preconditionFailed("If-None-Match");
  if (ifMatch === null) return null;
  if (!there) return noSuchKey(key);
  return ifMatch === "*" || ifMatch === current.etag ? null : preconditionFailed("If-Match");
}

export function preconditionFailed(condition: string): S3Refusal {
  const message = "At least one of the pre-conditions you specified did not hold";
  return s3Refuse("PreconditionFailed", message, { Condition: condition });
}

/** Removes a version and returns the blobs that are no longer needed. */
export function dropVersion(step: ModelStep, object: StoredObject): string[] {
  const { bucket, key, seq } = object;
  step.emit({ kind: "delete-object", bucket, key, seq });
  const blobs = object.pieces.map(({ blob }) => blob);
  for (const blob of blobs) step.emit({ kind: "delete-blob", blob });
  return blobs;
}

export interface NewVersion {
  readonly key: string;
  readonly marker: boolean;
  readonly pieces: readonly Piece[];
  readonly etag: string;
  readonly storageClass: string;
  readonly detail: string;
}

/** Adds a new current version; the one it replaces is dropped (V2). */
export function addVersion(
  state: BrokerState,
  step: ModelStep,
  bucket: BucketRecord,
  fresh: NewVersion,
): { readonly object: StoredObject; readonly dropped: string[] } {
  const { key, marker, pieces, etag, storageClass, detail } = fresh;
  const versioned = bucket.versioning === "Enabled";
  const replaced = versioned ? undefined : step.objects.version(bucket.number, key, NULL_VERSION);
  const dropped = replaced === undefined ? [] : dropVersion(step, replaced);
  const seq = state.nextSeq();
  const object: StoredObject = {
    bucket: bucket.number,
    key,
    seq,
    version: versioned ? newVersionId(step, seq) : NULL_VERSION,
    marker,
    sizeBytes: pieces.reduce((sum, piece) => sum + piece.sizeBytes, 0),
    etag,
    modifiedAt: step.now,
    storageClass,
    detail,
    pieces,
  };
  for (const { blob } of pieces) step.emit({ kind: "put-blob", blob });
  step.emit({ kind: "put-object", object });
  return { object, dropped };
}
