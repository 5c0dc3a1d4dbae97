// S3 object writer: conditional puts in S3, or in a compatible server.
//   S1. 412 means that the condition does not hold, and so does 404 for a put on an ETag: the
//       object is gone. 404 for a put of an absent key says that nothing can be stored there.
//       409 means that another conditional write of the key is in progress.
//   S2. Everything else that is not the caller's fault is TG_SINK_UNAVAILABLE.

import { HeadObjectCommand, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { TidegateError } from "../../core/errors.ts";
import type { ObjectWriter } from "../../ports/objects/object-writer.ts";

const CONFLICT = 409;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 412;
const FORBIDDEN = 403;

export interface S3WriterOptions {
  readonly client: S3Client;
}

/** Conditional writes through your `S3Client`. */
export function createS3ObjectWriter({ client }: S3WriterOptions): ObjectWriter {
  return {
    async write({ bucket, key, bytes, contentType, metadata, condition }, abortSignal) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: bytes,
        Metadata: { ...metadata },
        ...(contentType !== null && { ContentType: contentType }),
        ...("etag" in condition ? { IfMatch: condition.etag } : { IfNoneMatch: "*" }),
      });
      try {
        await client.send(command, { abortSignal });
        return "stored";
      } catch (error) {
        const status = statusOf(error);
        if (status === PRECONDITION_FAILED) return "exists"; // S1
        const isGone = status === NOT_FOUND && nameOf(error) !== "NoSuchBucket";
        if (isGone && "etag" in condition) return "exists"; // S1
        if (status === CONFLICT) return "conflict";
        throw sinkFault(error, bucket, key);
      }
    },
    async look(bucket, key, abortSignal) {
      try {
        const command = new HeadObjectCommand({ Bucket: bucket, Key: key });
        const { ETag = "", Metadata = {} } = await client.send(command, { abortSignal });
        return { etag: ETag, metadata: Metadata };
      } catch (error) {
        if (statusOf(error) === NOT_FOUND) return undefined;
        throw sinkFault(error, bucket, key);
      }
    },
  };
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

function nameOf(error: unknown): string {
  return (error as { name?: string } | null)?.name ?? "";
}

/** S2 */
function sinkFault(error: unknown, bucket: string, key: string): unknown {
  if (nameOf(error) === "AbortError") return error;
  const refused = statusOf(error) === FORBIDDEN;
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const code = refused ? "TG_SINK_REFUSED" : "TG_SINK_UNAVAILABLE";
  return new TidegateError(code, `s3://${bucket}/${key}: ${reason}`, { cause: error });
}
