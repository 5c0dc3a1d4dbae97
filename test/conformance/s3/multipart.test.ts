import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { ChecksumAlgorithm, ChecksumType } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { expect, test } from "vitest";
import { s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();
const MIB = 1_024 ** 2;
const PART = 5 * MIB;

function pattern(length: number, seed: number): Buffer {
  return Buffer.alloc(length, `part ${seed} `);
}

async function begin(more: object = {}) {
  const at = { Bucket: await buckets.bucket(), Key: "big" };
  const { UploadId } = await buckets.s3.createMultipartUpload({ ...at, ...more });
  return { ...at, UploadId: UploadId as string };
}

type Begun = Awaited<ReturnType<typeof begin>>;

async function send(upload: Begun, PartNumber: number, Body: Buffer, more: object = {}) {
  const sent = await buckets.s3.uploadPart({ ...upload, PartNumber, Body, ...more });
  const { ETag = "", ChecksumCRC32, ChecksumSHA256 } = sent;
  // An upload of no chosen algorithm has CRC64NVME, which the SDK does not send.
  const checksums = "ChecksumAlgorithm" in more ? { ChecksumCRC32, ChecksumSHA256 } : {};
  return { PartNumber, ETag, ...checksums };
}

function complete(upload: Begun, Parts: { PartNumber: number; ETag: string }[], more: object = {}) {
  return buckets.s3.completeMultipartUpload({ ...upload, MultipartUpload: { Parts }, ...more });
}

function md5(bytes: Buffer): Buffer {
  return createHash("md5").update(bytes).digest();
}

test("parts become one object whose ETag is computed from their digests", async () => {
  const upload = await begin({ ContentType: "a/b", Metadata: { m: "1" }, Tagging: "t=1" });
  const bodies = [pattern(PART, 1), pattern(PART, 2), pattern(10, 3)];
  const parts = [];
  for (const [index, body] of bodies.entries()) parts.push(await send(upload, index + 1, body));
  const made = await complete(upload, parts);
  const etag = md5(Buffer.concat(bodies.map(md5))).toString("hex");
  expect(made.ETag).toBe(`"${etag}-3"`);
  const got = await buckets.s3.getObject(upload);
  expect(got).toMatchObject({ ContentType: "a/b", Metadata: { m: "1" }, TagCount: 1 });
  const bytes = Buffer.from((await got.Body?.transformToByteArray()) ?? []);
  expect(bytes.equals(Buffer.concat(bodies))).toBe(true);
  const second = await buckets.s3.headObject({ ...upload, PartNumber: 2 });
  expect(second).toMatchObject({ ContentLength: PART, PartsCount: 3 });
  const across = await buckets.s3.getObject({
    ...upload,
    Range: `bytes=${PART - 3}-${PART + 2}`,
  });
  const expected = Buffer.concat(bodies)
    .subarray(PART - 3, PART + 3)
    .toString();
  expect(await across.Body?.transformToString()).toBe(expected);
});

test.each([
  ["CRC32", "COMPOSITE", /^.{8}-2$/],
  ["SHA256", "COMPOSITE", /^.{44}-2$/],
  ["CRC32", "FULL_OBJECT", /^.{8}$/],
  ["CRC64NVME", "FULL_OBJECT", /^.{12}$/],
] as [ChecksumAlgorithm, ChecksumType, RegExp][])(
  "the checksum of a multipart object with %s is %s",
  async (ChecksumAlgorithm, ChecksumType, shape) => {
    const upload = await begin({ ChecksumAlgorithm, ChecksumType });
    const bodies = [pattern(PART, 1), pattern(77, 2)];
    const parts = [];
    for (const [index, body] of bodies.entries()) {
      parts.push(await send(upload, index + 1, body, { ChecksumAlgorithm }));
    }
    const made = await complete(upload, parts);
    const name = `Checksum${ChecksumAlgorithm}` as "ChecksumCRC32";
    expect(made[name]).toMatch(shape);
    expect(made.ChecksumType).toBe(ChecksumType);
    if (ChecksumType === "COMPOSITE") return;
    const Body = Buffer.concat(bodies);
    const whole = await buckets.s3.putObject({ ...upload, Body, ChecksumAlgorithm });
    expect(made[name]).toBe(whole[name]);
  },
);

test.each(["with", "without"])(
  "a composite checksum %s the number of parts is accepted",
  async (form) => {
    const upload = await begin({ ChecksumAlgorithm: "SHA256" });
    const bodies = [pattern(PART, 1), pattern(77, 2)];
    const parts = [];
    for (const [index, body] of bodies.entries()) {
      parts.push(await send(upload, index + 1, body, { ChecksumAlgorithm: "SHA256" }));
    }
    const sums = bodies.map((body) => createHash("sha256").update(body).digest());
    const sum = createHash("sha256").update(Buffer.concat(sums)).digest("base64");
    const wrong = buckets.s3.completeMultipartUpload({
      ...upload,
      MultipartUpload: { Parts: parts },
      ChecksumSHA256: createHash("sha256").digest("base64"),
    });
    expect(await s3FailureOf(wrong)).toMatchObject({ code: "BadDigest", status: 400 });
    const made = await buckets.s3.completeMultipartUpload({
      ...upload,
      MultipartUpload: { Parts: parts },
      ChecksumSHA256: form === "with" ? `${sum}-2` : sum,
    });
    expect(made.ChecksumSHA256).toBe(`${sum}-2`);
  },
);

test("the SDK's upload helper sends a stream of unknown length in parts", async () => {
  const Bucket = await buckets.bucket();
  const body = Buffer.concat([pattern(PART, 1), pattern(PART, 2), pattern(MIB, 3)]);
  const chunks = Array.from({ length: 11 }, (_, index) =>
    body.subarray(index * MIB, (index + 1) * MIB),
  );
  const params = { Bucket, Key: "k", Body: Readable.from(chunks) };
  await new Upload({ client: buckets.s3, params }).done();
  const got = await buckets.s3.getObject({ Bucket, Key: "k" });
  expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(body)).toBe(true);
});

test("a list of parts out of order, with a wrong ETag, or with small parts is refused", async () => {
  const upload = await begin();
  const [one, two] = [
    await send(upload, 1, pattern(PART, 1)),
    await send(upload, 2, pattern(10, 2)),
  ];
  const order = await s3FailureOf(complete(upload, [two, one]));
  expect(order).toMatchObject({ code: "InvalidPartOrder", status: 400 });
  const twice = await s3FailureOf(complete(upload, [one, one]));
  expect(twice.code).toBe("InvalidPartOrder");
  const wrong = await s3FailureOf(complete(upload, [{ ...one, ETag: two.ETag }, two]));
  expect(wrong).toMatchObject({ code: "InvalidPart", status: 400 });
  const unknown = await s3FailureOf(complete(upload, [one, { ...two, PartNumber: 9 }]));
  expect(unknown.code).toBe("InvalidPart");
  const three = await send(upload, 3, pattern(10, 3));
  const small = await s3FailureOf(complete(upload, [one, two, three]));
  expect(small).toMatchObject({ code: "EntityTooSmall", status: 400 });
  const none = await buckets.raw("POST", `/${upload.Bucket}/big?uploadId=${upload.UploadId}`, {
    body: "<CompleteMultipartUpload></CompleteMultipartUpload>",
  });
  expect(none.code).toBe("MalformedXML");
  const conditions = { MpuObjectSize: 1 };
  expect((await s3FailureOf(complete(upload, [one], conditions))).code).toBe("InvalidRequest");
  await complete(upload, [one, two]);
  expect((await buckets.s3.headObject(upload)).ContentLength).toBe(PART + 10);
});

test("a part sent again replaces the previous one, and parts not listed are deleted", async () => {
  const upload = await begin();
  await send(upload, 1, pattern(20, 1));
  const again = await send(upload, 1, pattern(30, 2));
  await send(upload, 5, pattern(40, 3));
  const listed = await buckets.s3.listParts(upload);
  expect(listed.Parts?.map(({ PartNumber, Size }) => [PartNumber, Size])).toEqual([
    [1, 30],
    [5, 40],
  ]);
  await complete(upload, [again]);
  expect((await buckets.s3.headObject(upload)).ContentLength).toBe(30);
  expect(await s3FailureOf(buckets.s3.listParts(upload))).toMatchObject({ code: "NoSuchUpload" });
});

test("uploads and parts are listed in pages until they are aborted", async () => {
  const upload = await begin();
  for (const number of [1, 2, 3]) await send(upload, number, pattern(5, number));
  const first = await buckets.s3.listParts({ ...upload, MaxParts: 2 });
  expect([first.IsTruncated, first.NextPartNumberMarker]).toEqual([true, "2"]);
  const rest = await buckets.s3.listParts({ ...upload, PartNumberMarker: "2" });
  expect(rest.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([3]);
  const { Bucket } = upload;
  for (const Key of ["a", "a", "z/1", "z/2"]) {
    await buckets.s3.createMultipartUpload({ Bucket, Key });
  }
  const rolled = await buckets.s3.listMultipartUploads({ Bucket, Delimiter: "/" });
  expect(rolled.Uploads?.map(({ Key }) => Key)).toEqual(["a", "a", "big"]);
  expect(rolled.CommonPrefixes).toEqual([{ Prefix: "z/" }]);
  const page = await buckets.s3.listMultipartUploads({ Bucket, MaxUploads: 1 });
  const next = await buckets.s3.listMultipartUploads({
    Bucket,
    KeyMarker: page.NextKeyMarker!,
    UploadIdMarker: page.NextUploadIdMarker!,
  });
  expect(next.Uploads?.map(({ Key }) => Key)).toEqual(["a", "big", "z/1", "z/2"]);
  await buckets.s3.abortMultipartUpload(upload);
  const gone = await s3FailureOf(buckets.s3.abortMultipartUpload(upload));
  expect(gone).toMatchObject({ code: "NoSuchUpload", status: 404 });
  const part = buckets.s3.uploadPart({ ...upload, PartNumber: 1, Body: "x" });
  expect((await s3FailureOf(part)).code).toBe("NoSuchUpload");
  await buckets.s3.deleteBucket({ Bucket });
});

test("parts can be copied from other objects, whole or in ranges", async () => {
  const upload = await begin();
  const { Bucket } = upload;
  const source = pattern(PART + 100, 1);
  await buckets.s3.putObject({ Bucket, Key: "source", Body: source });
  const CopySource = `${Bucket}/source`;
  const copy = async (PartNumber: number, more: object) => {
    const request = { ...upload, PartNumber, CopySource, ...more };
    const { CopyPartResult } = await buckets.s3.uploadPartCopy(request);
    return { PartNumber, ETag: CopyPartResult?.ETag as string };
  };
  const parts = [await copy(1, {}), await copy(2, { CopySourceRange: "bytes=5-14" })];
  const beyond = copy(3, { CopySourceRange: `bytes=0-${source.length}` });
  expect((await s3FailureOf(beyond)).code).toBe("InvalidArgument");
  await complete(upload, parts);
  const got = await buckets.s3.getObject(upload);
  const bytes = Buffer.from((await got.Body?.transformToByteArray()) ?? []);
  expect(bytes.equals(Buffer.concat([source, source.subarray(5, 15)]))).toBe(true);
});

test("completing is subject to the same conditions as a put, and emits one event", async () => {
  const upload = await begin();
  const { Bucket, Key } = upload;
  const queue = await buckets.queue();
  const QueueConfigurations = [
    { QueueArn: queue.arn, Events: ["s3:ObjectCreated:CompleteMultipartUpload" as const] },
  ];
  const NotificationConfiguration = { QueueConfigurations };
  await buckets.s3.putBucketNotificationConfiguration({ Bucket, NotificationConfiguration });
  await buckets.drain(queue);
  await buckets.s3.putObject({ Bucket, Key, Body: "there" });
  const part = await send(upload, 1, pattern(9, 1));
  const refused = await s3FailureOf(complete(upload, [part], { IfNoneMatch: "*" }));
  expect(refused).toMatchObject({ code: "PreconditionFailed", status: 412 });
  expect(await buckets.drain(queue)).toEqual([]);
  const { ETag } = await complete(upload, [part]);
  const [message] = await buckets.drain(queue);
  expect(message.Records[0]).toMatchObject({
    eventName: "ObjectCreated:CompleteMultipartUpload",
    s3: { object: { size: 9, eTag: ETag?.replaceAll('"', "") } },
  });
});

test("completing again with the same parts succeeds without effect", async () => {
  const upload = await begin();
  const { Bucket, Key } = upload;
  const queue = await buckets.queue();
  const QueueConfigurations = [{ QueueArn: queue.arn, Events: ["s3:ObjectCreated:*" as const] }];
  const NotificationConfiguration = { QueueConfigurations };
  await buckets.s3.putBucketNotificationConfiguration({ Bucket, NotificationConfiguration });
  await buckets.s3.putBucketVersioning({
    Bucket,
    VersioningConfiguration: { Status: "Enabled" },
  });
  const part = await send(upload, 1, pattern(9, 1));
  const other = await send(upload, 2, pattern(9, 2));
  const { $metadata: _, ...first } = await complete(upload, [part], { IfNoneMatch: "*" });
  await buckets.s3.putObjectTagging({ Bucket, Key, Tagging: { TagSet: [] } });
  const { $metadata: __, ...second } = await complete(upload, [part], { IfNoneMatch: "*" });
  expect(second).toEqual(first);
  expect((await buckets.s3.listObjectVersions({ Bucket })).Versions).toHaveLength(1);
  expect((await buckets.drain(queue)).filter(({ Records }) => Records)).toHaveLength(1);

  const changed = await s3FailureOf(complete(upload, [other]));
  expect(changed).toMatchObject({ code: "NoSuchUpload", status: 404 });
  await buckets.s3.putObject({ Bucket, Key, Body: "newer" });
  expect((await s3FailureOf(complete(upload, [part]))).code).toBe("NoSuchUpload");
  await buckets.s3.deleteObject({ Bucket, Key });
  expect((await s3FailureOf(complete(upload, [part]))).code).toBe("NoSuchUpload");
});
