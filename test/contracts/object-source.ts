// The contract of object sources: a read returns the bytes of the event, or nothing.
// object-source.<adapter>.test.ts binds it to the embedded cloud in process and through the AWS SDK
// over HTTP.

import { createHash, randomBytes } from "node:crypto";
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import type {
  ObjectPin,
  ObjectSource,
  OpenedObject,
} from "../../src/ports/objects/object-source.ts";
import type { ByteSource } from "../../src/ports/rows.ts";

/** A signal that never aborts. */
const OPEN_END = new AbortController().signal;

export interface ObjectSourceBinding {
  readonly name: string;
  open(cloud: Cloud): ObjectSource;
  /** Whether small objects stay readable once they are opened (O4 of object-source.ts). */
  readonly holdsBytes?: boolean;
  /** The cloud's data folder, or undefined for memory. */
  readonly data?: () => string;
}

const never = new AbortController().signal;
const MIB = 1_048_576;

export function s3ClientOf({ endpoint }: Cloud, connectionsMax = 50): S3Client {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const requestHandler = { httpAgent: { maxSockets: connectionsMax, keepAlive: true } };
  const region = "us-east-1";
  const address = { endpoint, region, forcePathStyle: true };
  return new S3Client({ ...address, credentials, requestHandler, maxAttempts: 1 });
}

async function collect(bytes: ByteSource): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes.stream(OPEN_END)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

function bytesOf(opened: OpenedObject): ByteSource {
  if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
  return opened.bytes;
}

export function describeObjectSource(binding: ObjectSourceBinding): void {
  /** A read of an object that S3 would not return now. */
  async function expectRead<T>(read: Promise<T>, held: T): Promise<void> {
    if (binding.holdsBytes === true) expect(await read).toEqual(held);
    else await expect(read).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
  }

  describe(`an object source ${binding.name}`, () => {
    let cloud: Cloud;
    let client: S3Client;
    let source: ObjectSource;

    beforeEach(async () => {
      const data = binding.data?.();
      cloud = await startCloud(data === undefined ? {} : { data });
      client = s3ClientOf(cloud);
      source = binding.open(cloud);
      await client.send(new CreateBucketCommand({ Bucket: "plain" }));
      await client.send(new CreateBucketCommand({ Bucket: "kept" }));
      const VersioningConfiguration = { Status: "Enabled" } as const;
      const versioning = { Bucket: "kept", VersioningConfiguration };
      await client.send(new PutBucketVersioningCommand(versioning));
    });
    afterEach(async () => {
      client.destroy();
      await cloud.close();
    });

    async function put(bucket: string, body: string | Uint8Array, key = "a b/ü.csv") {
      const command = new PutObjectCommand({ Bucket: bucket, Key: key, Body: body });
      const { ETag = "", VersionId } = await client.send(command);
      return { bucket, key, versionId: VersionId ?? null, etag: ETag.replaceAll('"', "") };
    }
    const remove = ({ bucket, key }: ObjectPin, VersionId?: string) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId }));
    const open = (pin: ObjectPin) => source.open(pin, never);

    test("an object can be read completely, in ranges, and again", async () => {
      const pin = await put("plain", "0123456789");
      const opened = await open(pin);
      expect(opened).toMatchObject({ kind: "opened", etag: pin.etag });
      expect(opened.kind === "opened" && Number.isSafeInteger(opened.lastModified)).toBe(true);
      const bytes = bytesOf(opened);
      expect(bytes.size).toBe(10);
      expect(await collect(bytes)).toBe("0123456789");
      const text = async (start: number, end: number) =>
        Buffer.from(await bytes.range(start, end, OPEN_END)).toString();
      expect(await text(2, 5)).toBe("234");
      expect(await text(8, 99)).toBe("89");
      expect(await text(4, 4)).toBe("");
      expect(await text(10, 12)).toBe("");
      expect(await collect(bytes)).toBe("0123456789");
    });

    test("an opening has the checksum of the whole object, and marks one of parts", async () => {
      const target = { Bucket: "plain", Key: "summed.csv" };
      await client.send(
        new PutObjectCommand({ ...target, Body: "0123456789", ChecksumAlgorithm: "SHA256" }),
      );
      const pin = { bucket: "plain", key: "summed.csv", versionId: null, etag: null };
      const opened = await open(pin);
      const value = createHash("sha256").update("0123456789").digest("base64");
      const checksum = { algorithm: "SHA256", value, type: "FULL_OBJECT" };
      expect(opened).toMatchObject({ kind: "opened", checksum });
      const upload = { ...target, ChecksumAlgorithm: "SHA256" } as const;
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
      const part = { ...upload, UploadId, PartNumber: 1 };
      const sent = await client.send(new UploadPartCommand({ ...part, Body: "0123456789" }));
      const Parts = [{ PartNumber: 1, ETag: sent.ETag, ChecksumSHA256: sent.ChecksumSHA256 }];
      await client.send(
        new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }),
      );
      expect(await open(pin)).toMatchObject({ checksum: { type: "COMPOSITE" } });
    });

    test("an object has its own metadata, and the tags that it has now", async () => {
      const pin = { bucket: "plain", key: "noted.csv" };
      const target = { Bucket: pin.bucket, Key: pin.key };
      const Metadata = { day: "2026-03-01" };
      const command = new PutObjectCommand({ ...target, Body: "x", Metadata, Tagging: "a=b" });
      await client.send(command);
      const opened = await open({ ...pin, versionId: null, etag: null });
      if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
      expect(opened.metadata).toEqual(Metadata);
      expect(await opened.tags()).toEqual({ a: "b" });
    });

    test("an empty object has no bytes, which is not a failure", async () => {
      const bytes = bytesOf(await open(await put("plain", "")));
      expect(bytes.size).toBe(0);
      expect(await collect(bytes)).toBe("");
      expect(await bytes.range(0, 10, OPEN_END)).toEqual(new Uint8Array(0));
    });

    test("a version stays readable after it was overwritten, and after a delete marker", async () => {
      const first = await put("kept", "first");
      const second = await put("kept", "second");
      await remove(first);
      expect(await collect(bytesOf(await open(first)))).toBe("first");
      expect(await collect(bytesOf(await open(second)))).toBe("second");
      expect(await open({ ...first, versionId: null })).toEqual({ kind: "missing" });
    });

    test("a deleted version is missing, whatever replaced it", async () => {
      const first = await put("kept", "first");
      await put("kept", "second");
      await remove(first, first.versionId ?? "");
      expect(await open(first)).toEqual({ kind: "missing" });
      const marker = await remove(first);
      const pin = { ...first, versionId: marker.VersionId ?? "" };
      expect(await open(pin)).toEqual({ kind: "missing" });
      expect(await open({ ...first, versionId: "no version" })).toEqual({ kind: "missing" });
    });

    test("without versions, other bytes are reported as replaced, and none as missing", async () => {
      const first = await put("plain", "first");
      await put("plain", "second");
      expect(await open(first)).toEqual({ kind: "replaced" });
      await remove(first);
      expect(await open(first)).toEqual({ kind: "missing" });
      await put("plain", "first");
      expect(await collect(bytesOf(await open(first)))).toBe("first");
    });

    test("an object from before its bucket had versions stays readable", async () => {
      const first = await put("plain", "first");
      const VersioningConfiguration = { Status: "Enabled" } as const;
      const versioning = { Bucket: "plain", VersioningConfiguration };
      await client.send(new PutBucketVersioningCommand(versioning));
      await put("plain", "second");
      expect(await collect(bytesOf(await open(first)))).toBe("first");
      expect(await open({ ...first, etag: "0" })).toEqual({ kind: "replaced" });
    });

    test("an open without version and ETag reads the current bytes, and from then on no others", async () => {
      const pin = { ...(await put("plain", "first")), etag: null };
      const bytes = bytesOf(await open(pin));
      await put("plain", "other");
      await expectRead(collect(bytes), "first");
      await expectRead(bytes.range(0, 2, OPEN_END), new Uint8Array([0x66, 0x69]));
      expect(await collect(bytesOf(await open(pin)))).toBe("other");
    });

    test("an object that is overwritten while it is read is read to its end, or fails", async () => {
      const before = randomBytes(4 * MIB);
      const bytes = bytesOf(await open(await put("plain", before)));
      const chunks: Uint8Array[] = [];
      let failure: unknown = null;
      try {
        for await (const chunk of bytes.stream(OPEN_END)) {
          if (chunks.length === 0) await put("plain", Buffer.alloc(4 * MIB, "x"));
          chunks.push(chunk);
        }
      } catch (error) {
        failure = error;
      }
      const read = Buffer.concat(chunks);
      expect(read.equals(before.subarray(0, read.length))).toBe(true);
      if (failure === null) expect(read.length).toBe(before.length);
      else expect(failure).toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
    });

    test("large objects come in chunks that do not change", async () => {
      const whole = randomBytes(5 * MIB);
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytesOf(await open(await put("plain", whole))).stream(OPEN_END)) {
        chunks.push(chunk);
      }
      expect(chunks.length).toBeGreaterThan(4);
      expect(Buffer.concat(chunks).equals(whole)).toBe(true);
    });

    test("ending the iteration early ends the transfer", async () => {
      const pin = await put("plain", randomBytes(8 * MIB));
      // More often than the client of this source has connections.
      for (let at = 0; at < 4; at += 1) {
        for await (const chunk of bytesOf(await open(pin)).stream(OPEN_END)) {
          expect(chunk.length).toBeGreaterThan(0);
          break;
        }
      }
      expect(await bytesOf(await open(pin)).range(0, 1, OPEN_END)).toHaveLength(1);
    });

    test("an aborted read rejects with the reason of its signal", async () => {
      const pin = await put("plain", randomBytes(4 * MIB));
      const stop = new AbortController();
      const bytes = bytesOf(await source.open(pin, stop.signal));
      const reason = new Error("the lease is lost");
      const read = async () => {
        for await (const _ of bytes.stream(OPEN_END)) stop.abort(reason);
      };
      await expect(read()).rejects.toBe(reason);
      await expect(collect(bytes)).rejects.toBe(reason);
      expect(await bytesOf(await open(pin)).range(0, 1, OPEN_END)).toHaveLength(1);
    });

    test("a missing bucket, or one with an injected fault, is unavailable, never missing", async () => {
      const pin = await put("plain", "a");
      const unavailable = { code: "TG_OBJECTS_UNAVAILABLE" };
      await expect(open({ ...pin, bucket: "nowhere" })).rejects.toMatchObject(unavailable);
      const bytes = bytesOf(await open(pin));
      for (const kind of ["unavailable", "throttle", "drop-acknowledgement"] as const) {
        cloud.broker.faults.put({ kind, target: { bucket: "plain" }, probability: 1 });
        await expect(open(pin)).rejects.toMatchObject(unavailable);
        await expectRead(collect(bytes), "a");
        cloud.broker.faults.clear();
      }
      expect(await collect(bytes)).toBe("a");
    });
  });
}
