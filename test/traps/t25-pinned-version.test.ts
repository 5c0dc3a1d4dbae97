// T25: a run reads "the object" and not the version of its event, so that an overwritten or deleted
// object silently changes the result. Here the read is pinned: it returns the bytes of the event,
// or reports that they are gone.

import { DeleteObjectCommand, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createS3ObjectSource } from "../../src/aws/s3/s3-object-source.ts";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import type { ObjectPin, ObjectSource } from "../../src/ports/objects/object-source.ts";
import { s3ClientOf } from "../contracts/object-source.ts";

/** A signal that never aborts. */
const OPEN_END = new AbortController().signal;

const buckets = [{ name: "plain" }, { name: "kept", versioning: "Enabled" }] as const;
let cloud: Cloud;
let client: S3Client;
beforeAll(async () => {
  cloud = await startCloud({ setup: { buckets: [...buckets] } });
  client = s3ClientOf(cloud);
});
afterAll(async () => {
  client.destroy();
  await cloud.close();
});

const sources: readonly [name: string, open: () => ObjectSource][] = [
  ["in process", () => cloud.objects],
  ["through the AWS SDK", () => createS3ObjectSource({ client })],
];

/** Puts an object and returns the facts of its event. */
async function put(bucket: string, key: string, body: string): Promise<ObjectPin> {
  const command = new PutObjectCommand({ Bucket: bucket, Key: key, Body: body });
  const { ETag = "", VersionId } = await client.send(command);
  return { bucket, key, versionId: VersionId ?? null, etag: ETag.replaceAll('"', "") };
}

async function read(source: ObjectSource, pin: ObjectPin): Promise<string> {
  const opened = await source.open(pin, new AbortController().signal);
  if (opened.kind !== "opened") return opened.kind;
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.bytes.stream(OPEN_END)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe.each(sources)("T25: an object read %s", (name, open) => {
  const key = `${name}.csv`;

  test("is that of its event, despite newer versions and a deletion since", async () => {
    const event = await put("kept", key, "as notified");
    await put("kept", key, "newer");
    expect(await read(open(), event)).toBe("as notified");
    await client.send(new DeleteObjectCommand({ Bucket: "kept", Key: key }));
    expect(await read(open(), event)).toBe("as notified");
  });

  test("is reported missing once its version is deleted, even if others exist", async () => {
    const event = await put("kept", key, "as notified");
    await put("kept", key, "newer");
    const VersionId = event.versionId ?? "";
    await client.send(new DeleteObjectCommand({ Bucket: "kept", Key: key, VersionId }));
    expect(await read(open(), event)).toBe("missing");
  });

  test("is reported replaced in a bucket without versions", async () => {
    const event = await put("plain", key, "as notified");
    await put("plain", key, "newer");
    expect(await read(open(), event)).toBe("replaced");
    await client.send(new DeleteObjectCommand({ Bucket: "plain", Key: key }));
    expect(await read(open(), event)).toBe("missing");
  });

  test("does not change between open and read", async () => {
    const event = await put("plain", key, "as notified");
    const opened = await open().open(event, new AbortController().signal);
    await put("plain", key, "newer bytes");
    if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
    const unavailable = { code: "TG_OBJECTS_UNAVAILABLE" };
    await expect(opened.bytes.range(0, 5, OPEN_END)).rejects.toMatchObject(unavailable);
    const first = opened.bytes.stream(OPEN_END)[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject(unavailable);
  });
});
