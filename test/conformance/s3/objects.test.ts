import { createHash } from "node:crypto";
import { connect } from "node:net";
import { type ChecksumAlgorithm, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, test } from "vitest";
import { bodyTextOf, s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();

test("[120] a put returns ETag, ids, checksum, its type and encryption", async () => {
  const Bucket = await buckets.bucket();
  const { status, headers } = await buckets.raw("PUT", `/${Bucket}/k`, { body: "hello" });
  expect(status).toBe(200);
  expect(headers.get("etag")).toBe('"5d41402abc4b2a76b9719d911017c592"');
  expect(headers.get("x-amz-request-id")).toMatch(/^[0-9A-F]{16}$/);
  expect(headers.get("x-amz-id-2")).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  expect(headers.get("x-amz-checksum-crc64nvme")).toBe("M3eFcAZSQlc=");
  expect(headers.get("x-amz-checksum-type")).toBe("FULL_OBJECT");
  expect(headers.get("x-amz-server-side-encryption")).toBe("AES256");
});

const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 251));

test.each(["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"] as ChecksumAlgorithm[])(
  "[120] the SDK's %s trailer is decoded, verified, stored and returned",
  async (ChecksumAlgorithm) => {
    const Bucket = await buckets.bucket();
    const at = { Bucket, Key: "k" };
    const put = await buckets.s3.putObject({ ...at, Body: BYTES, ChecksumAlgorithm });
    const name = `Checksum${ChecksumAlgorithm}` as "ChecksumCRC32";
    expect(put[name]).toMatch(/^[A-Za-z0-9+/]+=*$/);
    const head = await buckets.s3.headObject({ ...at, ChecksumMode: "ENABLED" });
    expect([head[name], head.ContentLength]).toEqual([put[name], BYTES.length]);
    expect(head.ContentEncoding).toBeUndefined();
    const got = await buckets.s3.getObject(at);
    expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(BYTES)).toBe(true);
  },
);

const CRC32_OF_HELLO = "NhCmhg==";

function chunked(trailer: string, ...chunks: string[]): string {
  const framed = chunks.map(
    (each) => `${each.length.toString(16)};chunk-signature=x\r\n${each}\r\n`,
  );
  return `${framed.join("")}0;chunk-signature=x\r\n${trailer}\r\n`;
}

test.each([
  ["STREAMING-UNSIGNED-PAYLOAD-TRAILER", `x-amz-checksum-crc32:${CRC32_OF_HELLO}\r\n`],
  ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD", ""],
  ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", `x-amz-checksum-crc32:${CRC32_OF_HELLO}\r\n`],
])("[120] an aws-chunked body with %s is decoded", async (sha256, trailer) => {
  const Bucket = await buckets.bucket();
  const answer = await buckets.raw("PUT", `/${Bucket}/k`, {
    body: chunked(trailer, "hel", "lo"),
    headers: {
      "content-encoding": "aws-chunked,gzip",
      "x-amz-content-sha256": sha256,
      "x-amz-decoded-content-length": "5",
      ...(trailer !== "" && { "x-amz-trailer": "x-amz-checksum-crc32" }),
    },
  });
  expect(answer.status).toBe(200);
  const got = await buckets.s3.getObject({ Bucket, Key: "k" });
  expect(got.ContentEncoding).toBe("gzip");
  expect(await got.Body?.transformToString()).toBe("hello");
});

test.each([
  ["a wrong trailer", "x-amz-checksum-crc32:AAAAAA==\r\n", "5", "BadDigest"],
  ["a wrong length", "", "6", "IncompleteBody"],
  ["another trailer than declared", "x-amz-checksum-sha1:AAAA\r\n", "5", "MalformedTrailerError"],
  ["a missing trailer", "x-other:1\r\n", "5", "MalformedTrailerError"],
  ["a malformed trailer", "what\r\n", "5", "MalformedTrailerError"],
])(
  "an aws-chunked body with %s is refused and stores nothing",
  async (_, trailer, length, code) => {
    const Bucket = await buckets.bucket();
    const answer = await buckets.raw("PUT", `/${Bucket}/k`, {
      body: chunked(trailer, "hello"),
      headers: {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": length,
        ...(trailer !== "" && { "x-amz-trailer": "x-amz-checksum-crc32" }),
      },
    });
    expect([answer.status, answer.code]).toEqual([400, code]);
    expect((await buckets.s3.listObjectsV2({ Bucket })).KeyCount).toBe(0);
  },
);

test.each([
  [{ "content-md5": createHash("md5").update("other").digest("base64") }, "BadDigest"],
  [{ "content-md5": "no digest" }, "InvalidDigest"],
  [{ "x-amz-checksum-sha256": createHash("sha256").update("o").digest("base64") }, "BadDigest"],
  [{ "x-amz-checksum-crc32": "short" }, "InvalidRequest"],
  [{ "x-amz-checksum-crc32": CRC32_OF_HELLO, "x-amz-checksum-crc32c": "x" }, "InvalidRequest"],
  [{ "x-amz-content-sha256": "0".repeat(64) }, "XAmzContentSHA256Mismatch"],
  [{ "x-amz-content-sha256": "no digest" }, "InvalidArgument"],
])("a body that contradicts %j is refused with %s", async (headers, code) => {
  const Bucket = await buckets.bucket();
  const answer = await buckets.raw("PUT", `/${Bucket}/k`, { body: "hello", headers });
  expect([answer.status, answer.code]).toEqual([400, code]);
  expect((await buckets.raw("HEAD", `/${Bucket}/k`)).status).toBe(404);
});

test("metadata and content headers are returned as sent", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  const sent = {
    ContentType: "text/csv; charset=utf-8",
    ContentEncoding: "gzip",
    ContentLanguage: "sv",
    ContentDisposition: 'attachment; filename="a b.csv"',
    CacheControl: "max-age=60",
    StorageClass: "STANDARD_IA" as const,
    Metadata: { who: "me", "with-dash": "ok" },
  };
  await buckets.s3.putObject({ ...at, ...sent, Body: "x" });
  expect(await buckets.s3.headObject(at)).toMatchObject(sent);
  const plain = await buckets.raw("PUT", `/${at.Bucket}/plain`, { body: new Uint8Array([1]) });
  expect(plain.status).toBe(200);
  const got = await buckets.raw("GET", `/${at.Bucket}/plain`);
  expect(got.headers.get("content-type")).toBe("binary/octet-stream");
  expect(got.headers.get("accept-ranges")).toBe("bytes");
});

test.each([
  ["bytes=0-1", "he", "bytes 0-1/5"],
  ["bytes=3-", "lo", "bytes 3-4/5"],
  ["bytes=-2", "lo", "bytes 3-4/5"],
  ["bytes=-9", "hello", "bytes 0-4/5"],
  ["bytes=1-99", "ello", "bytes 1-4/5"],
])("the range %s returns %j", async (Range, text, ContentRange) => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "hello" });
  const got = await buckets.s3.getObject({ ...at, Range });
  expect(got).toMatchObject({ ContentRange, ContentLength: text.length });
  expect(got.$metadata.httpStatusCode).toBe(206);
  expect(await got.Body?.transformToString()).toBe(text);
});

test("a range beyond the end is 416, and a malformed one returns the whole object", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "hello" });
  const beyond = await s3FailureOf(buckets.s3.getObject({ ...at, Range: "bytes=5-" }));
  expect(beyond).toMatchObject({ code: "InvalidRange", status: 416 });
  expect(await bodyTextOf(buckets.s3.getObject({ ...at, Range: "bytes=3-1" }))).toBe("hello");
  await buckets.s3.putObject({ ...at, Body: "" });
  expect((await s3FailureOf(buckets.s3.getObject({ ...at, Range: "bytes=0-" }))).status).toBe(416);
  expect((await buckets.s3.getObject(at)).ContentLength).toBe(0);
});

test("conditional reads return 304, 412, or the object", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  const { ETag } = await buckets.s3.putObject({ ...at, Body: "x" });
  const { LastModified } = await buckets.s3.headObject(at);
  const before = new Date((LastModified as Date).getTime() - 1_000);
  const status = async (more: object) => {
    const [outcome] = await Promise.allSettled([buckets.s3.getObject({ ...at, ...more })]);
    return outcome.status === "fulfilled"
      ? outcome.value.$metadata.httpStatusCode
      : outcome.reason.$metadata.httpStatusCode;
  };
  expect(await status({ IfMatch: ETag })).toBe(200);
  expect(await status({ IfMatch: '"other"' })).toBe(412);
  expect(await status({ IfNoneMatch: ETag })).toBe(304);
  expect(await status({ IfNoneMatch: '"other"' })).toBe(200);
  expect(await status({ IfModifiedSince: LastModified })).toBe(304);
  expect(await status({ IfModifiedSince: before })).toBe(200);
  expect(await status({ IfUnmodifiedSince: before })).toBe(412);
  expect(await status({ IfUnmodifiedSince: LastModified })).toBe(200);
  expect(await status({ IfMatch: ETag, IfUnmodifiedSince: before })).toBe(200);
});

test("conditional writes require that the object does not exist or is unchanged", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  const missing = s3FailureOf(buckets.s3.putObject({ ...at, Body: "1", IfMatch: '"e"' }));
  expect(await missing).toMatchObject({ code: "NoSuchKey", status: 404 });
  const { ETag } = await buckets.s3.putObject({ ...at, Body: "1", IfNoneMatch: "*" });
  const again = s3FailureOf(buckets.s3.putObject({ ...at, Body: "2", IfNoneMatch: "*" }));
  expect(await again).toMatchObject({ code: "PreconditionFailed", status: 412 });
  await buckets.s3.putObject({ ...at, Body: "3", IfMatch: ETag });
  const stale = s3FailureOf(buckets.s3.putObject({ ...at, Body: "4", IfMatch: ETag }));
  expect(await stale).toMatchObject({ code: "PreconditionFailed", status: 412 });
  expect(await bodyTextOf(buckets.s3.getObject(at))).toBe("3");
  const never = s3FailureOf(buckets.s3.putObject({ ...at, Body: "5", IfNoneMatch: '"x"' }));
  expect(await never).toMatchObject({ code: "NotImplemented", status: 501 });
});

test("of many concurrent writes with If-None-Match, exactly one succeeds", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  const writes = Array.from({ length: 20 }, (_, index) =>
    buckets.s3.putObject({ ...at, Body: `${index}`, IfNoneMatch: "*" }),
  );
  const outcomes = await Promise.allSettled(writes);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("a copy keeps or replaces metadata and tags; a copy onto itself must change something", async () => {
  const Bucket = await buckets.bucket();
  const from = { Bucket, Key: "från +" };
  const CopySource = `${Bucket}/${encodeURIComponent(from.Key)}`;
  const put = { ...from, Body: "x", Metadata: { a: "1" }, Tagging: "t=1", ContentType: "a/b" };
  await buckets.s3.putObject(put);
  await buckets.s3.copyObject({ Bucket, Key: "copy", CopySource });
  const copy = await buckets.s3.getObject({ Bucket, Key: "copy" });
  expect(copy).toMatchObject({ Metadata: { a: "1" }, ContentType: "a/b", TagCount: 1 });
  await buckets.s3.copyObject({
    Bucket,
    Key: "new",
    CopySource,
    MetadataDirective: "REPLACE",
    Metadata: { b: "2" },
    TaggingDirective: "REPLACE",
    Tagging: "u=2",
  });
  const renewed = await buckets.s3.headObject({ Bucket, Key: "new" });
  expect(renewed.Metadata).toEqual({ b: "2" });
  const { TagSet } = await buckets.s3.getObjectTagging({ Bucket, Key: "new" });
  expect(TagSet).toEqual([{ Key: "u", Value: "2" }]);
  const same = s3FailureOf(buckets.s3.copyObject({ ...from, CopySource }));
  expect(await same).toMatchObject({ code: "InvalidRequest", status: 400 });
  const gone = s3FailureOf(buckets.s3.copyObject({ ...from, CopySource: `${Bucket}/nothing` }));
  expect(await gone).toMatchObject({ code: "NoSuchKey", status: 404 });
});

test("tags are stored, replaced and removed; too many and duplicate ones are refused", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "x" });
  const tags = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ Key: `k${index}`, Value: "å ä" }));
  await buckets.s3.putObjectTagging({ ...at, Tagging: { TagSet: tags(10) } });
  expect((await buckets.s3.getObjectTagging(at)).TagSet).toHaveLength(10);
  const many = buckets.s3.putObjectTagging({ ...at, Tagging: { TagSet: tags(11) } });
  expect((await s3FailureOf(many)).code).toBe("InvalidTag");
  const twice = [...tags(1), ...tags(1)];
  const doubled = buckets.s3.putObjectTagging({ ...at, Tagging: { TagSet: twice } });
  expect((await s3FailureOf(doubled)).code).toBe("InvalidTag");
  await buckets.s3.deleteObjectTagging(at);
  expect((await buckets.s3.getObjectTagging(at)).TagSet).toEqual([]);
});

test("a presigned URL puts and gets until it has expired", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "a b.txt" };
  const put = await getSignedUrl(buckets.s3, new PutObjectCommand(at), { expiresIn: 60 });
  expect((await fetch(put, { method: "PUT", body: "hello" })).status).toBe(200);
  const command = new GetObjectCommand({ ...at, ResponseContentType: "text/x-own" });
  const get = await getSignedUrl(buckets.s3, command, { expiresIn: 60 });
  const reply = await fetch(get);
  expect([reply.headers.get("content-type"), await reply.text()]).toEqual(["text/x-own", "hello"]);
  await buckets.cloud.clock.advance(120_000);
  const late = await fetch(get);
  expect(late.status).toBe(403);
  expect(await late.text()).toContain("<Message>Request has expired</Message>");
});

test("a presigned URL works while the virtual clock is behind that of the client", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  const signingDate = new Date(buckets.cloud.clock.now() + 20 * 60_000);
  const options = { expiresIn: 60, signingDate };
  const put = await getSignedUrl(buckets.s3, new PutObjectCommand(at), options);
  expect((await fetch(put, { method: "PUT", body: "hello" })).status).toBe(200);
});

test("a bucket is addressed by its host or by its path", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "a/b", Body: "hello" });
  const hosts = [
    `${Bucket}.localhost`,
    `${Bucket}.s3.localhost:4566`,
    `${Bucket}.s3.us-east-1.amazonaws.com`,
    `${Bucket}.s3.amazonaws.com`,
    `${Bucket}.s3-eu-west-1.amazonaws.com`,
  ];
  for (const host of hosts) {
    const authorization = `AWS4-HMAC-SHA256 Credential=any/20260302/us-east-1/s3/aws4_request`;
    const head = `Host: ${host}\r\nAuthorization: ${authorization}\r\nConnection: close`;
    const text = await exchange(`GET /a/b HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(text).toContain("HTTP/1.1 200");
    expect(text.endsWith("hello")).toBe(true);
  }
});

function exchange(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(buckets.url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(bytes);
  });
}

test("a client that sends Expect: 100-continue may send only if its bucket exists", async () => {
  const Bucket = await buckets.bucket();
  const head = (bucket: string, length: number) =>
    `PUT /${bucket}/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n` +
    `Content-Length: ${length}\r\n\r\n`;
  const refused = await exchange(head("not-there", 10_000_000));
  expect(refused).toMatch(/^HTTP\/1\.1 404/);
  expect(refused).toContain("<Code>NoSuchBucket</Code>");
  const accepted = await exchange(`${head(Bucket, 5)}hello`);
  expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/);
});

test("a URL with a version 2 signature works until it expires, and its expiry must be valid", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
  const at = (Expires: string | number) =>
    buckets.raw("GET", `/${Bucket}/k?AWSAccessKeyId=a&Signature=s&Expires=${Expires}`);
  const now = Math.floor(buckets.cloud.clock.now() / 1_000);
  expect((await at(now + 10)).status).toBe(200);
  for (const wrong of [now - 10, "never", "", "-1"]) {
    expect(await at(wrong)).toMatchObject({ status: 403, code: "AccessDenied" });
  }
});
