// Upload operations: objects that are uploaded in parts.
//   U1. Parts are blobs from the start. Completing moves no bytes: the object is the list of its
//       parts.
//   U2. Parts of an upload that the object does not use are dropped.
//   U3. A client that lost the response may complete again with the same parts and gets the same
//       answer, as long as the object is the current version of its key. Nothing changes.
//   U4. A conditional completion is refused, even if its condition holds, if the current version of
//       its key is not the one with which the upload began: another write or delete came first.

import {
  type Checksum,
  type ChecksumAlgorithm,
  checksumOfParts,
} from "../../../core/encoding/checksum.ts";
import { md5HexOfParts } from "../../../core/encoding/hash.ts";
import { isCorruption } from "../../../core/errors.ts";
import { S3_PART_BYTES_MIN } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type {
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../../ports/broker/object-change.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { type BucketRecord, bucketOf } from "./bucket.ts";
import { notify } from "./notify.ts";
import {
  type ObjectDetail,
  readDetail,
  readUploadDetail,
  type UploadDetail,
} from "./object-detail.ts";
import { startOf, walk } from "./object-listing.ts";
import { addVersion, checkConditions, currentOf, publicVersionId } from "./object-versions.ts";
import { noSuchUpload, type S3Fault, type S3Refusal, s3Refuse } from "./s3-fault.ts";
import type {
  ClaimedChecksum,
  CompletePart,
  S3Input,
  S3Value,
  WriteConditions,
} from "./s3-operations.ts";

export function createUpload(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, key, storageClass, detail }: S3Input<"createUpload">,
): Result<{ id: string }, S3Fault> {
  const bucketResult = bucketOf(state, name);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const id = `${step.newId()}${step.newId()}`.replaceAll("-", "");
  const began = JSON.stringify({ ...readUploadDetail(detail), ...currentSeqOf(step, bucket, key) });
  const { number } = bucket;
  const upload = { bucket: number, key, id, startedAt: step.now, storageClass, detail: began };
  step.emit({ kind: "put-upload", upload });
  return succeed({ id });
}

/** Which version is current as an upload begins (U4); unknown if the store cannot read it. */
function currentSeqOf(
  step: ModelStep,
  bucket: BucketRecord,
  key: string,
): Pick<UploadDetail, "currentSeq"> {
  try {
    return { currentSeq: currentOf(step, bucket, key)?.seq ?? null };
  } catch (error) {
    if (isCorruption(error)) return {}; // The upload may be there to replace the damaged object.
    throw error;
  }
}

interface InUpload {
  readonly bucket: string;
  readonly key: string;
  readonly upload: string;
}

function uploadOf(
  state: BrokerState,
  step: ModelStep,
  at: InUpload,
): Result<StoredUpload, S3Fault> {
  const bucketResult = bucketOf(state, at.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const upload = step.objects.upload(bucket.number, at.key, at.upload);
  return upload === undefined ? noSuchUpload(at.upload) : succeed(upload);
}

export function findUpload(
  state: BrokerState,
  step: ModelStep,
  input: InUpload,
): Result<S3Value<"findUpload">, S3Fault> {
  const upload = uploadOf(state, step, input);
  return upload.ok ? succeed({ upload: upload.value }) : upload;
}

export function putPart(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"putPart">,
): Result<S3Value<"putPart">, S3Fault> {
  const uploadResult = uploadOf(state, step, input);
  if (!uploadResult.ok) return uploadResult;
  const upload = uploadResult.value;
  const { number, piece, etag, checksum } = input;
  const previous = step.objects.part(upload.id, number);
  if (previous !== undefined) step.emit({ kind: "delete-blob", blob: previous.blob });
  step.emit({ kind: "put-blob", blob: piece.blob });
  const part = { upload: upload.id, number, ...piece, etag, checksum, modifiedAt: step.now };
  step.emit({ kind: "put-part", part });
  return succeed({ dropped: previous === undefined ? [] : [previous.blob] });
}

export function completeUpload(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"completeUpload">,
): Result<S3Value<"completeUpload">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const uploadResult = uploadOf(state, step, input);
  if (!uploadResult.ok) return completedBefore(step, bucket, input) ?? uploadResult;
  const upload = uploadResult.value;
  const held = new Map([...step.objects.parts(upload.id, 0)].map((part) => [part.number, part]));
  const partsResult = chooseParts(input, upload, held);
  if (!partsResult.ok) return partsResult;
  const parts = partsResult.value;
  const { key, conditions } = input;
  const refused = checkConditions(step, bucket, key, conditions);
  if (refused !== null) return refused;
  const conflict = checkConflict(step, bucket, upload, conditions);
  if (conflict !== null) return conflict;
  const detailResult = detailOf(upload, parts, input);
  if (!detailResult.ok) return detailResult;
  const detail = detailResult.value;

  const { object, dropped } = addVersion(state, step, bucket, {
    key: upload.key,
    marker: false,
    pieces: parts.map(({ blob, sizeBytes }) => ({ blob, sizeBytes })), // U1
    etag: etagOfParts(parts),
    storageClass: upload.storageClass,
    detail: JSON.stringify(detail),
  });
  // The upload is deleted last: the version it replaces has been read by now, and was intact.
  step.emit({ kind: "delete-upload", bucket: bucket.number, key: upload.key, id: upload.id });
  for (const part of parts) held.delete(part.number);
  const unused = [...held.values()].map(({ blob }) => blob); // U2
  for (const blob of unused) step.emit({ kind: "delete-blob", blob });
  const name = "ObjectCreated:CompleteMultipartUpload";
  notify(state, step, bucket, input.origin, { ...object, name });
  return succeed({ ...answerOf(bucket, object, detail), dropped: [...dropped, ...unused] });
}

/** Refuses a conditional completion after a write or delete during the upload (U4). */
function checkConflict(
  step: ModelStep,
  bucket: BucketRecord,
  { key, detail }: StoredUpload,
  { ifMatch, ifAbsent }: WriteConditions,
): S3Refusal | null {
  if (ifMatch === null && !ifAbsent) return null;
  const { currentSeq } = readUploadDetail(detail);
  const seq = currentOf(step, bucket, key)?.seq ?? null;
  if (currentSeq === undefined || currentSeq === seq) return null;
  return s3Refuse(
    "ConditionalRequestConflict",
    "The conditional request cannot succeed due to a conflicting operation against this resource.",
    { Condition: ifAbsent ? "If-None-Match" : "If-Match", Key: key },
  );
}

function answerOf(bucket: BucketRecord, object: StoredObject, { checksum }: ObjectDetail) {
  const { etag, modifiedAt } = object;
  return { version: publicVersionId(bucket, object.version), etag, modifiedAt, checksum };
}

function etagOfParts(parts: readonly { readonly etag: string }[]): string {
  return `${md5HexOfParts(parts.map(({ etag }) => Buffer.from(etag, "hex")))}-${parts.length}`;
}

/** The answer of an upload that was completed with the same parts, or null (U3). */
function completedBefore(
  step: ModelStep,
  bucket: BucketRecord,
  { key, upload, parts }: S3Input<"completeUpload">,
): Result<S3Value<"completeUpload">, S3Fault> | null {
  const object = currentOf(step, bucket, key);
  if (object === undefined || object.marker || object.etag !== etagOfParts(parts)) return null;
  const detail = readDetail(object.detail);
  return detail.upload === upload
    ? succeed({ ...answerOf(bucket, object, detail), dropped: [] })
    : null;
}

/** The parts of the object, in order, or the refusal of the list. */
function chooseParts(
  { upload, parts: listed, sizeBytes }: S3Input<"completeUpload">,
  { detail }: StoredUpload,
  held: ReadonlyMap<number, StoredPart>,
): Result<StoredPart[], S3Fault> {
  const { checksumAlgorithm, checksumType, checksumChosen } = readUploadDetail(detail);
  const needsChecksums = checksumChosen && checksumType === "COMPOSITE";
  const chosen: StoredPart[] = [];
  let before = 0;
  for (const part of listed) {
    if (part.number <= before) {
      return s3Refuse(
        "InvalidPartOrder",
        "The list of parts was not in ascending order. Parts must be ordered by part number.",
        { UploadId: upload },
      );
    }
    before = part.number;
    if (needsChecksums && part.checksums.length === 0) {
      return missingChecksum(part.number, checksumAlgorithm);
    }
    const stored = held.get(part.number);
    if (stored === undefined || !isSamePart(stored, part, checksumAlgorithm)) {
      return invalidPart(upload, part);
    }
    chosen.push(stored);
  }
  const small = chosen.slice(0, -1).find((part) => part.sizeBytes < S3_PART_BYTES_MIN);
  if (small !== undefined) {
    return s3Refuse(
      "EntityTooSmall",
      "Your proposed upload is smaller than the minimum allowed size",
      {
        ProposedSize: String(small.sizeBytes),
        MinSizeAllowed: String(S3_PART_BYTES_MIN),
        PartNumber: String(small.number),
        ETag: small.etag,
      },
    );
  }
  const total = chosen.reduce((sum, part) => sum + part.sizeBytes, 0);
  if (sizeBytes === null || sizeBytes === total) return succeed(chosen);
  return s3Refuse(
    "InvalidRequest",
    "The provided 'x-amz-mp-object-size' header does not match the size of the uploaded parts.",
  );
}

/** Parts have one checksum, of the algorithm of their upload. */
function isSamePart(
  stored: StoredPart,
  listed: CompletePart,
  checksumAlgorithm: ChecksumAlgorithm,
): boolean {
  if (listed.etag !== stored.etag) return false;
  return listed.checksums.every(
    ({ algorithm, value }) => algorithm === checksumAlgorithm && value === stored.checksum,
  );
}

function missingChecksum(number: number, algorithm: ChecksumAlgorithm): S3Refusal {
  return s3Refuse(
    "InvalidRequest",
    `The upload was created using a ${algorithm.toLowerCase()} checksum. The complete request must ` +
      `include the checksum for each part. It was missing for part ${number} in the request.`,
  );
}

function invalidPart(upload: string, part: CompletePart): S3Refusal {
  return s3Refuse(
    "InvalidPart",
    "One or more of the specified parts could not be stored.  The part may not have been " +
      "uploaded, or the specified entity tag may not match the part's entity tag.",
    { UploadId: upload, PartNumber: String(part.number), ETag: part.etag },
  );
}

/** Clients may leave out the number of parts: `abc=` claims the composite checksum `abc=-3`. */
function claims(claimed: ClaimedChecksum, { algorithm, value }: Checksum): boolean {
  if (claimed.algorithm !== algorithm) return false;
  return claimed.value === value || claimed.value === value.replace(/-\d+$/, "");
}

function detailOf(
  upload: StoredUpload,
  parts: readonly StoredPart[],
  { checksum: claimed, checksumType: claimedType }: S3Input<"completeUpload">,
): Result<ObjectDetail, S3Fault> {
  const { checksumAlgorithm, checksumType, headers, metadata, tags } = readUploadDetail(
    upload.detail,
  );
  if (claimedType !== null && claimedType !== checksumType) {
    return s3Refuse(
      "InvalidRequest",
      `The upload was created using the ${checksumType} checksum mode. The complete request must ` +
        "use the same checksum mode.",
    );
  }
  const sums = parts.map(({ checksum, sizeBytes }) => ({ value: checksum, sizeBytes }));
  const checksum = checksumOfParts(checksumAlgorithm, checksumType, sums);
  if (claimed !== null && !claims(claimed, checksum)) {
    return s3Refuse(
      "BadDigest",
      `The ${claimed.algorithm} you specified did not match the calculated checksum.`,
    );
  }
  return succeed({ headers, metadata, tags, checksum, upload: upload.id });
}

export function abortUpload(
  state: BrokerState,
  step: ModelStep,
  input: InUpload,
): Result<S3Value<"abortUpload">, S3Fault> {
  const uploadResult = uploadOf(state, step, input);
  if (!uploadResult.ok) return uploadResult;
  const upload = uploadResult.value;
  return succeed({ dropped: dropUpload(step, upload, [...step.objects.parts(upload.id, 0)]) });
}

/** Deletes an upload and returns the blobs that are no longer needed. */
export function dropUpload(
  step: ModelStep,
  { bucket, key, id }: StoredUpload,
  parts: readonly StoredPart[],
): string[] {
  step.emit({ kind: "delete-upload", bucket, key, id });
  for (const { blob } of parts) step.emit({ kind: "delete-blob", blob });
  return parts.map(({ blob }) => blob);
}

export function stepListParts(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"listParts">,
): Result<S3Value<"listParts">, S3Fault> {
  const uploadResult = uploadOf(state, step, input);
  if (!uploadResult.ok) return uploadResult;
  const upload = uploadResult.value;
  const rest = [...step.objects.parts(upload.id, input.after)];
  const parts = rest.slice(0, input.limit);
  const next = rest.length > input.limit ? (parts.at(-1)?.number ?? input.after) : null;
  return succeed({ upload, parts, next });
}

export function listUploads(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"listUploads">,
): Result<S3Value<"listUploads">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const { prefix, after, afterUpload } = input;
  const within = afterUpload !== "" && after !== "" && after.startsWith(prefix);
  const start = within ? { key: after, after: false } : startOf(prefix, after);
  const { entries, prefixes, more, last } = walk(
    input,
    start,
    (from) => step.objects.uploads(bucket.number, from),
    (row) => (within && row.key === after && row.id <= afterUpload ? "pass" : "take"),
    after,
  );
  const lastEntry = entries.at(-1);
  const nextUpload = more && lastEntry?.key === last ? lastEntry.id : null;
  return succeed({ entries, prefixes, next: more ? last : null, nextUpload });
}
