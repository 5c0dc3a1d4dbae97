// Buckets on a disk: what survives a restart, what a crash or an aborted client leaves behind, and
// that no key reaches anything but its own object.

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQS } from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../src/api/cloud.ts";
import { eventually } from "../../support/eventually.ts";
import { bodyTextOf, createS3Client, sendRaw } from "../../support/s3-buckets.ts";

let root: string;
let data: string;
const clouds: Cloud[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tidegate-s3-"));
  data = join(root, "data");
});
afterEach(async () => {
  for (const cloud of clouds.splice(0)) await cloud.close();
  rmSync(root, { recursive: true, force: true });
});

async function start(options: CloudOptions = {}) {
  const cloud = await startCloud({ data, ...options });
  clouds.push(cloud);
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const { endpoint } = cloud;
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  return { cloud, endpoint, s3: createS3Client(endpoint), sqs };
}

/** The blob files, without the folders that always exist. */
function blobFiles(): string[] {
  const blobs = join(data, "blobs");
  if (!existsSync(blobs)) return [];
  return readdirSync(blobs, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(blobs, name)).isFile(),
  );
}

test("objects, versions, settings, uploads and sequencers survive a restart", async () => {
  const first = await start();
  const Bucket = "durable";
  await first.s3.createBucket({ Bucket });
  const { QueueUrl } = await first.sqs.createQueue({ QueueName: "events" });
  const QueueArn = "arn:aws:sqs:us-east-1:000000000000:events";
  await first.s3.putBucketNotificationConfiguration({
    Bucket,
    NotificationConfiguration: {
      QueueConfigurations: [{ QueueArn, Events: ["s3:ObjectCreated:*"] }],
    },
  });
  await first.s3.putBucketVersioning({ Bucket, VersioningConfiguration: { Status: "Enabled" } });
  const old = await first.s3.putObject({ Bucket, Key: "k", Body: "one" });
  const { UploadId } = await first.s3.createMultipartUpload({ Bucket, Key: "u" });
  const upload = { Bucket, Key: "u", UploadId: UploadId as string };
  const part = await first.s3.uploadPart({ ...upload, PartNumber: 1, Body: "part" });
  await first.cloud.close();

  const again = await start({ s3EventVersion: "2.1" });
  expect(await bodyTextOf(again.s3.getObject({ Bucket, Key: "k" }))).toBe("one");
  await again.s3.putObject({ Bucket, Key: "k", Body: "two" });
  const { VersionId } = old;
  expect(await bodyTextOf(again.s3.getObject({ Bucket, Key: "k", VersionId }))).toBe("one");
  const Parts = [{ PartNumber: 1, ETag: part.ETag as string }];
  await again.s3.completeMultipartUpload({ ...upload, MultipartUpload: { Parts } });
  expect(await bodyTextOf(again.s3.getObject({ Bucket, Key: "u" }))).toBe("part");

  const { Messages = [] } = await again.sqs.receiveMessage({
    QueueUrl,
    MaxNumberOfMessages: 10,
  });
  const records = Messages.flatMap(({ Body = "" }) => JSON.parse(Body).Records ?? []);
  const ofKey = records.filter((record) => record.s3.object.key === "k");
  const [before, after] = ofKey.map((record) => record.s3.object.sequencer);
  expect(before < after).toBe(true);
  expect(ofKey.map((record) => record.eventVersion)).toEqual(["2.6", "2.1"]);
});

test("a folder of the first format opens, keeps its data, and accepts objects", async () => {
  const first = await start();
  const { QueueUrl } = await first.sqs.createQueue({ QueueName: "old" });
  await first.sqs.sendMessage({ QueueUrl, MessageBody: "from before" });
  await first.cloud.close();
  const file = new DatabaseSync(join(data, "broker.sqlite"));
  for (const table of ["part", "upload", "blob", "object", "object_place"]) {
    file.exec(`DROP TABLE ${table}`);
  }
  file.exec("PRAGMA user_version = 1; VACUUM");
  file.close();
  rmSync(join(data, "blobs"), { recursive: true });

  const again = await start();
  expect((await again.s3.listBuckets()).Buckets).toEqual([]);
  const { Messages } = await again.sqs.receiveMessage({ QueueUrl });
  expect(Messages?.map(({ Body }) => Body)).toEqual(["from before"]);
  await again.s3.createBucket({ Bucket: "new" });
  await again.s3.putObject({ Bucket: "new", Key: "k", Body: "hello" });
  await again.cloud.close();
  const third = await start();
  expect(await bodyTextOf(third.s3.getObject({ Bucket: "new", Key: "k" }))).toBe("hello");
});

test("overwritten, deleted and aborted bytes leave no file behind", async () => {
  const { s3 } = await start();
  const Bucket = "busy";
  await s3.createBucket({ Bucket });
  for (const Body of ["one", "two", "three"]) await s3.putObject({ Bucket, Key: "k", Body });
  await s3.copyObject({ Bucket, Key: "copy", CopySource: `${Bucket}/k` });
  await s3.deleteObject({ Bucket, Key: "k" });
  const { UploadId } = await s3.createMultipartUpload({ Bucket, Key: "u" });
  await s3.uploadPart({ Bucket, Key: "u", UploadId, PartNumber: 1, Body: "x" });
  await s3.uploadPart({ Bucket, Key: "u", UploadId, PartNumber: 1, Body: "y" });
  await s3.abortMultipartUpload({ Bucket, Key: "u", UploadId });
  const refused = s3.putObject({ Bucket, Key: "copy", Body: "x", IfNoneMatch: "*" });
  await expect(refused).rejects.toThrow();
  await eventually(() => expect(blobFiles()).toHaveLength(1));
});

test("an upload whose client disconnects leaves neither a file nor an object", async () => {
  const { s3, endpoint } = await start();
  const Bucket = "cut";
  await s3.createBucket({ Bucket });
  const { port, hostname } = new URL(endpoint);
  const socket = connect(Number(port), hostname);
  socket.write(`PUT /${Bucket}/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n`);
  socket.write(Buffer.alloc(3_000_000));
  await eventually(() => expect(blobFiles()).toHaveLength(1));
  socket.destroy();
  await eventually(() => expect(blobFiles()).toEqual([]));
  expect((await s3.listObjectsV2({ Bucket })).KeyCount).toBe(0);
});

test("the sweep at the start removes leftovers of a crash and keeps referenced blobs", async () => {
  const first = await start();
  const Bucket = "swept";
  await first.s3.createBucket({ Bucket });
  await first.s3.putObject({ Bucket, Key: "k", Body: "keep" });
  await first.cloud.close();
  const [referenced] = blobFiles();
  mkdirSync(join(data, "blobs", "new"), { recursive: true });
  writeFileSync(join(data, "blobs", "new", "a".repeat(32)), "never published");
  writeFileSync(join(data, "blobs", "ab", `ab${"c".repeat(30)}`), "never committed");
  const again = await start();
  await eventually(() => expect(blobFiles()).toEqual([referenced]));
  expect(await bodyTextOf(again.s3.getObject({ Bucket, Key: "k" }))).toBe("keep");
});

const TRICKS = [
  "../outside.txt",
  "../../outside.txt",
  "..",
  ".",
  "./",
  "/",
  "//",
  "/etc/passwd",
  "a/../../outside.txt",
  "..\\outside.txt",
  "C:\\outside.txt",
  "broker.sqlite",
  "blobs/new/x",
  "a\u0000b",
  "\u0000",
  "con",
  "a/",
  "A",
  "a",
  "%2e%2e%2foutside.txt",
  "~/outside.txt",
  `${"x".repeat(255)}/${"y".repeat(255)}`,
  "x".repeat(1_024),
];

function hashesOutside(): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("data") && statSync(join(root, name)).isFile())
    .map((name) => {
      const hash = createHash("sha256").update(readFileSync(join(root, name)));
      return `${name} ${hash.digest("hex")}`;
    });
}

test("no key reads or writes anything outside its own object", async () => {
  writeFileSync(join(root, "outside.txt"), "mine");
  const before = hashesOutside();
  const { s3, endpoint } = await start();
  const Bucket = "tricks";
  await s3.createBucket({ Bucket });
  const paths = TRICKS.flatMap((key) => {
    const encoded = encodeURIComponent(key);
    const bare = encoded.replaceAll("%2F", "/");
    const dots = encoded.replaceAll(".", "%2E");
    return [...new Set([encoded, bare, dots])].map((path) => [key, `/${Bucket}/${path}`] as const);
  });
  for (const [key, path] of paths) {
    const put = await sendRaw(endpoint, "PUT", path, { body: `content of ${key}` });
    expect([path, put.status]).toEqual([path, 200]);
  }
  for (const [key, path] of paths) {
    const got = await sendRaw(endpoint, "GET", path);
    expect([path, got.body]).toEqual([path, `content of ${key}`]);
  }
  const listed = (await s3.listObjectsV2({ Bucket, EncodingType: "url" })).Contents ?? [];
  expect(listed).toHaveLength(TRICKS.length);
  expect(hashesOutside()).toEqual(before);
  for (const name of blobFiles()) expect(name).toMatch(/^[0-9a-f]{2}.[0-9a-f]{32}$/);
  expect(readdirSync(data).toSorted()).toEqual(
    expect.arrayContaining(["blobs", "broker.lock", "broker.sqlite"]),
  );
  for (const [, path] of paths) await sendRaw(endpoint, "DELETE", path);
  await eventually(() => expect(blobFiles()).toEqual([]));
  expect(hashesOutside()).toEqual(before);
});

test("a copy of a running cloud's folder contains every acknowledged object", async () => {
  const { s3 } = await start();
  const Bucket = "copied";
  await s3.createBucket({ Bucket });
  const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
  await Promise.all(keys.map((Key) => s3.putObject({ Bucket, Key, Body: Key })));
  const copy = join(root, "copy");
  cpSync(data, copy, { recursive: true });
  const other = await start({ data: copy });
  for (const Key of keys) expect(await bodyTextOf(other.s3.getObject({ Bucket, Key }))).toBe(Key);
});
