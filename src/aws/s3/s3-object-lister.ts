// S3 object lister: the objects of a bucket of S3, or of a compatible server.
//   T1. Versions are listed, in buckets without versions too: only then a listing has the version
//       ids that events have, and the two can be compared.
//   T2. Keys are requested URL-encoded: XML cannot carry every key.

import { ListObjectVersionsCommand, type S3Client } from "@aws-sdk/client-s3";
import { TidegateError } from "../../core/errors.ts";
import { decodeFormKey } from "../../core/events/decode/s3-notification.ts";
import { normalizeEtag, normalizeVersionId } from "../../core/events/object-identity.ts";
import { type DurationMs, epochMs, seconds } from "../../core/units.ts";
import type { ListedObject, ListedPage, ObjectLister } from "../../ports/objects/object-lister.ts";
import { withDeadline } from "../request-deadline.ts";

const ANSWER_MS_MAX: DurationMs = seconds(30);
const CURSOR_PARTS = 2;

/** Lists the objects of buckets of S3. */
export function createS3ObjectLister(options: { readonly client: S3Client }): ObjectLister {
  const { client } = options;
  return {
    async list({ bucket, prefix, after }, signal): Promise<ListedPage> {
      const [KeyMarker, VersionIdMarker] = after === null ? [] : decodeMarkers(after);
      const command = new ListObjectVersionsCommand({
        Bucket: bucket,
        EncodingType: "url", // T2
        ...(prefix !== "" && { Prefix: prefix }),
        ...(KeyMarker !== undefined && { KeyMarker }),
        ...(VersionIdMarker !== undefined && VersionIdMarker !== "" && { VersionIdMarker }),
      });
      try {
        const send = (abortSignal: AbortSignal) => client.send(command, { abortSignal });
        const page = await withDeadline(send, ANSWER_MS_MAX, signal);
        const objects = (page.Versions ?? []).map((version): ListedObject => {
          const { Key = "", ETag = "", Size = 0, VersionId = "", LastModified } = version;
          return {
            key: decodeFormKey(Key) ?? Key,
            versionId: normalizeVersionId(VersionId),
            etag: normalizeEtag(ETag) ?? "",
            size: Size,
            lastModified: epochMs(LastModified?.getTime() ?? 0),
            isLatest: version.IsLatest === true,
          };
        });
        const { NextKeyMarker: key = "", NextVersionIdMarker: version = "" } = page;
        const decoded = decodeFormKey(key) ?? key;
        return { objects, next: page.IsTruncated ? JSON.stringify([decoded, version]) : null };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        const message = `s3://${bucket} cannot be listed: ${reason}`;
        throw new TidegateError("TG_OBJECTS_UNAVAILABLE", message, { cause: error });
      }
    },
  };
}

function decodeMarkers(cursor: string): string[] {
  const parts: unknown = JSON.parse(cursor);
  const isCursor = Array.isArray(parts) && parts.length === CURSOR_PARTS;
  return isCursor ? parts.map(String) : [];
}
