// S3 objects: stores and fetches the payloads of claim checks.

import { GetObjectCommand, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { TidegateError } from "../../core/errors.ts";
import type { Objects } from "../../ports/objects/objects.ts";

/** Stores and fetches the payloads of claim checks in S3. */
export function createS3Objects(options: { readonly client: S3Client }): Objects {
  const { client } = options;
  return {
    async put(bucket, key, bytes) {
      const ContentType = "application/json";
      const command = new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, ContentType });
      await client.send(command).catch((error: unknown) => {
        throw objectFault(error, `s3://${bucket}/${key}`);
      });
    },
    async get(bucket, key) {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        return await Body?.transformToByteArray();
      } catch (error) {
        if ((error as { name?: string } | null)?.name === "NoSuchKey") return undefined;
        throw objectFault(error, `s3://${bucket}/${key}`);
      }
    },
  };
}

function objectFault(error: unknown, location: string): TidegateError {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", `${location}: ${reason}`, { cause: error });
}
