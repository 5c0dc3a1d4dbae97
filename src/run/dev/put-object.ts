// Put object: a plain PUT to the embedded cloud, which checks no credentials. It serves
// `tidegate dev`; producers use the AWS SDK.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { reasonOf, TidegateError } from "../../core/errors.ts";

export interface ObjectTarget {
  readonly endpoint: string;
  readonly bucket: string;
}

type RequestBody = NonNullable<RequestInit["body"]>;

/** Resolves when the object is durable and its event is sent. */
export function putLocalObject(
  target: ObjectTarget,
  key: string,
  body: string | Uint8Array,
): Promise<void> {
  return send(target, key, { body: body as RequestBody });
}

/** Deletes the object under a key. */
export function deleteLocalObject(target: ObjectTarget, key: string): Promise<void> {
  return send(target, key, { method: "DELETE" });
}

/** Puts a file, as a stream. */
export async function putFile(target: ObjectTarget, key: string, path: string): Promise<void> {
  const { size } = await stat(path);
  // fetch sends no content-length for an empty stream.
  if (size === 0) return putLocalObject(target, key, "");
  const body = Readable.toWeb(createReadStream(path, { end: size - 1 })) as RequestBody;
  return send(target, key, {
    body,
    duplex: "half",
    headers: { "content-length": String(size) },
  } as RequestInit);
}

async function send({ endpoint, bucket }: ObjectTarget, key: string, request: RequestInit) {
  const path = key.split("/").map(encodeURIComponent).join("/");
  let reason: string;
  try {
    const reply = await fetch(`${endpoint}/${bucket}/${path}`, { method: "PUT", ...request });
    const text = await reply.text();
    if (reply.ok) return;
    reason = /<Message>([^<]*)</.exec(text)?.[1] ?? `status ${reply.status}`;
  } catch (error) {
    reason = reasonOf(error);
  }
  throw new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${reason}`);
}
