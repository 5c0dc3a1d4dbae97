// S3 object source: objects of S3, or of a compatible server, pinned to the version that an event
// names.
//   P1. Every request names the version, if there is one, and the ETag of the opening: S3 itself
//       refuses to return other bytes.
//   P2. If HEAD is rejected, a GET follows, because only its response has the reason: for HEAD, a
//       missing object and a missing bucket are both 404.
//   P3. A transfer that is no longer read is ended, and so is one that stalls: each would hold a
//       connection of the client forever.
//   P4. An object that was written before its bucket had versions has the version "null". It stays
//       readable by that name after it was overwritten.

import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { CHECKSUM_ALGORITHMS, type Checksum } from "../../core/encoding/checksum.ts";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, epochMs, seconds } from "../../core/units.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { ByteSource } from "../../ports/rows.ts";
import { withDeadline } from "../request-deadline.ts";
import type { SdkError } from "../sdk-errors.ts";

/** How long S3 may take to start a response, and to send its next chunk. */
const ANSWER_MS_MAX: DurationMs = seconds(30);

const NULL_VERSION = "null";

/** Rejections that are not about the object or our permissions; a retry can succeed. */
const TRANSIENT_REFUSALS: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "RequestExpired",
  "RequestTimeTooSkewed",
  "TokenRefreshRequired",
]);

/** Identifies one version of an object in a request. */
interface Pinned {
  readonly Bucket: string;
  readonly Key: string;
  readonly VersionId?: string;
  readonly IfMatch?: string;
}

type Body = AsyncIterable<Uint8Array> & { destroy?(error?: Error): unknown };

/** Reads objects of S3, pinned to the version that an event describes. */
export function createS3ObjectSource(options: { readonly client: S3Client }): ObjectSource {
  const { client } = options;
  const source: ObjectSource = {
    async open(pin, signal) {
      const pinned = pinnedOf(pin, pin.etag);
      let head: HeadObjectCommandOutput;
      try {
        const command = new HeadObjectCommand({ ...pinned, ChecksumMode: "ENABLED" });
        head = await withDeadline(
          (abortSignal) => client.send(command, { abortSignal }),
          ANSWER_MS_MAX,
          signal,
        );
      } catch (error) {
        if (statusOf(error) < 400 || statusOf(error) >= 500) throw objectFault(error, pin, signal);
        const absent = notOpened(await whyNot(client, pinned, pin, signal), pin, signal);
        if (absent.kind !== "replaced" || pin.versionId !== null) return absent;
        const older = await source.open({ ...pin, versionId: NULL_VERSION }, signal); // P4
        return older.kind === "opened" ? older : absent;
      }
      const etag = head.ETag?.replace(/^"(.*)"$/, "$1") ?? pin.etag;
      const lastModified =
        head.LastModified === undefined ? null : epochMs(head.LastModified.getTime());
      const size = head.ContentLength ?? null;
      const bytes = bytesOf(client, pin, pinnedOf(pin, etag), size, signal); // P1
      const tags = () => tagsOf(client, pin, signal);
      const versionId = head.VersionId ?? null;
      const facts = { etag, versionId, lastModified, checksum: checksumOf(head) };
      return { kind: "opened", bytes, ...facts, metadata: head.Metadata ?? {}, tags };
    },
  };
  return source;
}

/** The checksum of a HEAD; servers without types mark one of parts by its number of parts. */
function checksumOf(head: HeadObjectCommandOutput): Checksum | null {
  const algorithm = CHECKSUM_ALGORITHMS.find((name) => head[`Checksum${name}`] !== undefined);
  const value = algorithm && head[`Checksum${algorithm}`];
  if (algorithm === undefined || value === undefined) return null;
  const isOfParts = head.ChecksumType === "COMPOSITE" || value.includes("-");
  return { algorithm, value, type: isOfParts ? "COMPOSITE" : "FULL_OBJECT" };
}

function pinnedOf({ bucket, key, versionId }: ObjectPin, etag: string | null): Pinned {
  return {
    Bucket: bucket,
    Key: key,
    ...(versionId !== null && { VersionId: versionId }),
    ...(etag !== null && { IfMatch: `"${etag}"` }),
  };
}

async function tagsOf(
  client: S3Client,
  pin: ObjectPin,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const { Bucket, Key, VersionId } = pinnedOf(pin, null);
  const command = new GetObjectTaggingCommand({ Bucket, Key, ...(VersionId && { VersionId }) });
  const ask = (abortSignal: AbortSignal) => client.send(command, { abortSignal });
  try {
    const { TagSet = [] } = await withDeadline(ask, ANSWER_MS_MAX, signal);
    return Object.fromEntries(TagSet.map(({ Key: name = "", Value = "" }) => [name, Value]));
  } catch (error) {
    throw objectFault(error, pin, signal);
  }
}

function bytesOf(
  client: S3Client,
  pin: ObjectPin,
  pinned: Pinned,
  size: number | null,
  signal: AbortSignal,
): ByteSource {
  return {
    size,
    stream: (closing) => transfer(client, pin, pinned, AbortSignal.any([signal, closing])),
    async range(start, end, closing) {
      const length = Math.max(0, Math.min(end, size ?? end) - start);
      const bytes = new Uint8Array(length);
      if (length === 0) return bytes;
      const Range = `bytes=${start}-${start + length - 1}`;
      let at = 0;
      const either = AbortSignal.any([signal, closing]);
      for await (const chunk of transfer(client, pin, { ...pinned, Range }, either)) {
        if (at + chunk.length > length)
          throw unavailable(pin, "received more bytes than requested");
        bytes.set(chunk, at);
        at += chunk.length;
      }
      if (at < length && size !== null)
        throw unavailable(pin, "received fewer bytes than requested");
      return bytes.subarray(0, at);
    },
  };
}

/** The body of one GET, chunk by chunk. */
async function* transfer(
  client: S3Client,
  pin: ObjectPin,
  request: Pinned & { readonly Range?: string },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const ending = new AbortController();
  let body: Body | undefined;
  const end = (reason?: unknown) => {
    ending.abort(reason);
    body?.destroy?.(reason instanceof Error ? reason : undefined);
  };
  const abort = () => end(signal.reason);
  const inTime = <T>(pending: Promise<T>) =>
    withDeadline((late) => {
      late.addEventListener("abort", () => end(late.reason), { once: true });
      return pending;
    }, ANSWER_MS_MAX);
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    const command = new GetObjectCommand(request);
    const answer = await inTime(client.send(command, { abortSignal: ending.signal }));
    body = answer.Body as Body | undefined;
    const chunks = body?.[Symbol.asyncIterator]();
    for (;;) {
      const next = await inTime(chunks?.next() ?? Promise.resolve(null));
      signal.throwIfAborted();
      if (next === null || next.done === true) break;
      yield next.value;
    }
  } catch (error) {
    throw objectFault(error, pin, signal);
  } finally {
    signal.removeEventListener("abort", abort);
    end(); // P3
  }
}

/** The error of a GET after a rejected HEAD (P2). */
async function whyNot(
  client: S3Client,
  pinned: Pinned,
  pin: ObjectPin,
  signal: AbortSignal,
): Promise<unknown> {
  let answer: GetObjectCommandOutput;
  try {
    const ask = (abortSignal: AbortSignal) =>
      client.send(new GetObjectCommand(pinned), { abortSignal });
    answer = await withDeadline(ask, ANSWER_MS_MAX, signal);
  } catch (error) {
    return error;
  }
  (answer.Body as Body | undefined)?.destroy?.();
  return unavailable(pin, "the object appeared or changed while it was opened");
}

function notOpened(error: unknown, pin: ObjectPin, signal: AbortSignal): OpenedObject {
  const { name, message = "" } = error as SdkError;
  switch (statusOf(error)) {
    case 404:
      if (name === "NoSuchBucket") throw objectFault(error, pin, signal);
      return { kind: "missing" };
    case 405: // The version is a delete marker.
      return { kind: "missing" };
    case 412:
      return { kind: "replaced" };
    case 403:
      if (TRANSIENT_REFUSALS.has(name ?? "")) throw objectFault(error, pin, signal);
      return { kind: "forbidden", reason: `${name}: ${message}` };
    case 400:
      // No version can have such an id.
      if (name === "InvalidArgument" && pin.versionId !== null) return { kind: "missing" };
      throw objectFault(error, pin, signal);
    default:
      throw objectFault(error, pin, signal);
  }
}

function statusOf(error: unknown): number {
  return (error as SdkError | null)?.$metadata?.httpStatusCode ?? 0;
}

/** If the caller has aborted, its own reason is thrown. */
function objectFault(error: unknown, pin: ObjectPin, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof TidegateError) return error;
  if (statusOf(error) === 412)
    return unavailable(pin, "the object was replaced during the transfer", error);
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return unavailable(pin, reason, error);
}

function unavailable({ bucket, key }: ObjectPin, reason: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${reason}`, { cause });
}
