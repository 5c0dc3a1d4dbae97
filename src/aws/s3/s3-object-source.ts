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
//   P5. A small object is read with its opening, by one GET instead of HEAD and GET. If S3 rejects
//       that GET, HEAD decides as for any other object: it is allowed where GET is not, for
//       example for an archived object.

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

type GetRequest = Pinned & { readonly Range?: string; readonly ChecksumMode?: "ENABLED" };

type Body = AsyncIterable<Uint8Array> & { destroy?(error?: Error): unknown };

/** What both HEAD and GET answer about an object. */
type Facts = HeadObjectCommandOutput | GetObjectCommandOutput;

/** Shared, because an abort without a reason creates an error with a stack. */
const OVER = new Error("the transfer is over");

/** Objects up to this size are read with their opening (P5). */
const BUFFERED_BYTES_MAX = 65_536;

/** Reads objects of S3, pinned to the version that an event describes. */
export function createS3ObjectSource(options: { readonly client: S3Client }): ObjectSource {
  const { client } = options;
  const source: ObjectSource = {
    bufferedBytesMax: BUFFERED_BYTES_MAX,
    async open(pin, signal) {
      const isSmall = pin.expectedBytes != null && pin.expectedBytes <= BUFFERED_BYTES_MAX;
      const whole = isSmall ? await openWhole(client, pin, signal) : null; // P5
      if (whole !== null) return whole;
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
        if (!isRejection(error)) throw objectFault(error, pin, signal);
        const absent = notOpened(await whyNot(client, pinned, pin, signal), pin, signal);
        if (absent.kind !== "replaced" || pin.versionId !== null) return absent;
        const older = await source.open({ ...pin, versionId: NULL_VERSION }, signal); // P4
        return older.kind === "opened" ? older : absent;
      }
      return openedOf(client, pin, head, signal);
    },
  };
  return source;
}

/** An opening with the bytes, if there are not too many (P5); null if S3 rejects the GET. */
async function openWhole(
  client: S3Client,
  pin: ObjectPin,
  signal: AbortSignal,
): Promise<OpenedObject | null> {
  let answer: GetObjectCommandOutput | undefined;
  const chunks: Uint8Array[] = [];
  let held = 0;
  try {
    const request = { ...pinnedOf(pin, pin.etag), ChecksumMode: "ENABLED" } as const;
    const onAnswer = (output: GetObjectCommandOutput) => {
      answer = output;
    };
    for await (const chunk of transfer(client, request, signal, onAnswer)) {
      held += chunk.length;
      if (held > BUFFERED_BYTES_MAX) break; // The event named another size.
      chunks.push(chunk);
    }
  } catch (error) {
    if (answer === undefined && isRejection(error)) return null;
    throw objectFault(error, pin, signal);
  }
  if (answer === undefined) throw unavailable(pin, "received no answer");
  const opened = openedOf(client, pin, answer, signal);
  if (held > BUFFERED_BYTES_MAX) return opened;
  if (held !== (answer.ContentLength ?? held)) {
    throw unavailable(pin, "received fewer bytes than announced");
  }
  return { ...opened, bytes: bufferedBytes(Buffer.concat(chunks), signal), bufferedBytes: held };
}

/** Bytes in memory. Readers get copies, as they may change what they get. */
function bufferedBytes(bytes: Uint8Array, signal: AbortSignal): ByteSource {
  const copyOf = (start: number, end: number) => new Uint8Array(bytes.subarray(start, end));
  return {
    size: bytes.length,
    async *stream(closing) {
      signal.throwIfAborted();
      closing.throwIfAborted();
      if (bytes.length > 0) yield copyOf(0, bytes.length);
    },
    async range(start, end, closing) {
      signal.throwIfAborted();
      closing.throwIfAborted();
      return copyOf(start, Math.max(start, end));
    },
  };
}

function openedOf(client: S3Client, pin: ObjectPin, facts: Facts, signal: AbortSignal) {
  const etag = facts.ETag?.replace(/^"(.*)"$/, "$1") ?? pin.etag;
  const at = facts.LastModified;
  const lastModified = at === undefined ? null : epochMs(at.getTime());
  const size = facts.ContentLength ?? null;
  return {
    kind: "opened",
    bytes: bytesOf(client, pin, pinnedOf(pin, etag), size, signal), // P1
    etag,
    versionId: facts.VersionId ?? null,
    lastModified,
    checksum: checksumOf(facts),
    metadata: facts.Metadata ?? {},
    tags: () => tagsOf(client, pin, signal),
  } as const;
}

/** The checksum of an answer; servers without types mark one of parts by its number of parts. */
function checksumOf(facts: Facts): Checksum | null {
  const algorithm = CHECKSUM_ALGORITHMS.find((name) => facts[`Checksum${name}`] !== undefined);
  const value = algorithm && facts[`Checksum${algorithm}`];
  if (algorithm === undefined || value === undefined) return null;
  const isOfParts = facts.ChecksumType === "COMPOSITE" || value.includes("-");
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
  const read = (request: GetRequest, closing: AbortSignal) =>
    pinnedRead(client, pin, request, AbortSignal.any([signal, closing]));
  return {
    size,
    stream: (closing) => read(pinned, closing),
    async range(start, end, closing) {
      const length = Math.max(0, Math.min(end, size ?? end) - start);
      const bytes = new Uint8Array(length);
      if (length === 0) return bytes;
      const Range = `bytes=${start}-${start + length - 1}`;
      let at = 0;
      for await (const chunk of read({ ...pinned, Range }, closing)) {
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

/** One GET, with the errors of the port; not a generator, which would cost turns per chunk. */
function pinnedRead(
  client: S3Client,
  pin: ObjectPin,
  request: GetRequest,
  signal: AbortSignal,
): AsyncIterableIterator<Uint8Array> {
  const chunks = transfer(client, request, signal);
  const fault = (error: unknown) => {
    throw objectFault(error, pin, signal);
  };
  return {
    next: () => chunks.next().catch(fault),
    return: () => chunks.return(undefined).catch(fault),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The body of one GET, chunk by chunk; throws the SDK's errors. */
async function* transfer(
  client: S3Client,
  request: GetRequest,
  signal: AbortSignal,
  onAnswer: (answer: GetObjectCommandOutput) => void = () => undefined,
): AsyncGenerator<Uint8Array, undefined> {
  const ending = new AbortController();
  let body: Body | undefined;
  const end = (reason: unknown) => {
    ending.abort(reason);
    body?.destroy?.(reason instanceof Error && reason !== OVER ? reason : undefined);
  };
  const abort = () => end(signal.reason);
  let late: Error | null = null;
  let isWaiting = false;
  const timer = setTimeout(() => {
    if (!isWaiting) return; // The reader is slow, not S3.
    late = new Error(`no response within ${ANSWER_MS_MAX} ms`);
    end(late);
  }, ANSWER_MS_MAX);
  const inTime = async <T>(pending: Promise<T>): Promise<T> => {
    isWaiting = true;
    timer.refresh();
    const result = await pending;
    isWaiting = false;
    return result;
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    const command = new GetObjectCommand(request);
    const answer = await inTime(client.send(command, { abortSignal: ending.signal }));
    onAnswer(answer);
    body = answer.Body as Body | undefined;
    const chunks = body?.[Symbol.asyncIterator]();
    for (;;) {
      const next = await inTime(chunks?.next() ?? Promise.resolve(null));
      signal.throwIfAborted();
      if (next === null || next.done === true) break;
      yield next.value;
    }
  } catch (error) {
    throw late ?? error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    end(OVER); // P3
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

/** Whether S3 answered, and would answer the same again. */
function isRejection(error: unknown): boolean {
  return statusOf(error) >= 400 && statusOf(error) < 500;
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
