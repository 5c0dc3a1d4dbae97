// Put object: one plain PUT to an S3 endpoint that checks no credentials, which the embedded cloud
// is. It serves `tidegate dev`; producers and AWS have the SDK.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { reasonOf, TidegateError } from "../../core/errors.ts";

export interface ObjectTarget {
  readonly endpoint: string;
  readonly bucket: string;
}

type RequestBody = NonNullable<RequestInit["body"]>;

/** Puts bytes under a key; it is durable, and its event on the way, when this resolves. */
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

/** Puts a file under a key, as a stream. */
export async function putFile(target: ObjectTarget, key: string, path: string): Promise<void> {
  const { size } = await stat(path);
  // An empty stream has no length of its own to send.
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
    const told = await reply.text();
    if (reply.ok) return;
    reason = /<Message>([^<]*)</.exec(told)?.[1] ?? `status ${reply.status}`;
  } catch (error) {
    reason = reasonOf(error);
  }
  throw new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${reason}`);
}
