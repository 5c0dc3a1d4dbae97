// S3 object source: objects of Amazon's, or of any that speaks its protocol, pinned to what an
// event told of them.
//   P1. Every request names the version, if there is one, and the ETag that was found at the
//       opening: S3 itself refuses to answer with other bytes.
//   P2. What HEAD refuses is asked for once more by GET, which alone says why: an object that is
//       missing and a bucket that is missing are both 404 to HEAD.
//   P3. A transfer that nobody goes on reading is ended, and so is one that stalls: each would hold
//       one of the client's connections for ever.

import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, epochMs, seconds } from "../../core/units.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../../ports/object-source.ts";
import type { ByteSource } from "../../ports/rows.ts";
import type { SdkError } from "../faults.ts";
import { withDeadline } from "../request-deadline.ts";

/** What S3 may take to begin an answer, and to send the next piece of one. */
const ANSWER_MS_MAX: DurationMs = seconds(30);

/** Refusals that say nothing of the object or of our rights: another time, S3 would answer. */
const PASSING_REFUSALS: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "RequestExpired",
  "RequestTimeTooSkewed",
  "TokenRefreshRequired",
]);

/** What names one state of an object in a request. */
interface Pinned {
  readonly Bucket: string;
  readonly Key: string;
  readonly VersionId?: string;
  readonly IfMatch?: string;
}

type Body = AsyncIterable<Uint8Array> & { destroy?(error?: Error): unknown };

export function createS3ObjectSource(options: { readonly client: S3Client }): ObjectSource {
  const { client } = options;
  return {
    async open(pin, signal) {
      const pinned = pinnedOf(pin, pin.etag);
      let head: HeadObjectCommandOutput;
      try {
        const command = new HeadObjectCommand(pinned);
        head = await withDeadline(
          (abortSignal) => client.send(command, { abortSignal }),
          ANSWER_MS_MAX,
          signal,
        );
      } catch (error) {
        if (statusOf(error) < 400 || statusOf(error) >= 500) throw objectFault(error, pin, signal);
        return notOpened(await whyNot(client, pinned, pin, signal), pin, signal);
      }
      const etag = head.ETag?.replace(/^"(.*)"$/, "$1") ?? pin.etag;
      const lastModified =
        head.LastModified === undefined ? null : epochMs(head.LastModified.getTime());
      const size = head.ContentLength ?? null;
      const bytes = bytesOf(client, pin, pinnedOf(pin, etag), size, signal); // P1
      return { kind: "opened", bytes, etag, lastModified };
    },
  };
}

function pinnedOf({ bucket, key, versionId }: ObjectPin, etag: string | null): Pinned {
  return {
    Bucket: bucket,
    Key: key,
    ...(versionId !== null && { VersionId: versionId }),
    ...(etag !== null && { IfMatch: `"${etag}"` }),
  };
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
      const wanted = Math.max(0, Math.min(end, size ?? end) - start);
      const bytes = new Uint8Array(wanted);
      if (wanted === 0) return bytes;
      const Range = `bytes=${start}-${start + wanted - 1}`;
      let at = 0;
      const either = AbortSignal.any([signal, closing]);
      for await (const chunk of transfer(client, pin, { ...pinned, Range }, either)) {
        if (at + chunk.length > wanted) throw unavailable(pin, "more bytes came than asked for");
        bytes.set(chunk, at);
        at += chunk.length;
      }
      if (at < wanted && size !== null) throw unavailable(pin, "fewer bytes came than asked for");
      return bytes.subarray(0, at);
    },
  };
}

/** The body of one GET, as it is taken. */
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
  const soon = <T>(coming: Promise<T>) =>
    withDeadline((late) => {
      late.addEventListener("abort", () => end(late.reason), { once: true });
      return coming;
    }, ANSWER_MS_MAX);
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    const command = new GetObjectCommand(request);
    const answer = await soon(client.send(command, { abortSignal: ending.signal }));
    body = answer.Body as Body | undefined;
    const chunks = body?.[Symbol.asyncIterator]();
    for (;;) {
      const next = await soon(chunks?.next() ?? Promise.resolve(null));
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

/** The error of a GET for what HEAD refused (P2). */
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
  return unavailable(pin, "the object came or changed while it was being opened");
}

function notOpened(error: unknown, pin: ObjectPin, signal: AbortSignal): OpenedObject {
  const { name, message = "" } = error as SdkError;
  switch (statusOf(error)) {
    case 404:
      if (name === "NoSuchBucket") throw objectFault(error, pin, signal);
      return { kind: "missing" };
    case 405: // A delete marker, named by its version.
      return { kind: "missing" };
    case 412:
      return { kind: "replaced" };
    case 403:
      if (PASSING_REFUSALS.has(name ?? "")) throw objectFault(error, pin, signal);
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

/** What the caller called off is no failure of ours: it gets its own reason back. */
function objectFault(error: unknown, pin: ObjectPin, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof TidegateError) return error;
  if (statusOf(error) === 412) return unavailable(pin, "the object was replaced meanwhile", error);
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return unavailable(pin, reason, error);
}

function unavailable({ bucket, key }: ObjectPin, why: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${why}`, { cause });
}
