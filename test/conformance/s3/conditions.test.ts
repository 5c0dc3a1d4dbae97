// Conditions and protections: what a client demands of a write holds, or nothing changes.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();
const PART = "part";

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

async function textAt(Bucket: string, key = "k"): Promise<string> {
  const { status, body } = await buckets.raw("GET", `/${Bucket}/${key}`);
  return status === 200 ? body : String(status);
}

/** An upload to "k" with one part. */
async function begin(Bucket: string, more: object = {}, ofPart = more) {
  const at = { Bucket, Key: "k" };
  const { UploadId = "" } = await buckets.s3.createMultipartUpload({ ...at, ...more });
  const part = await buckets.s3.uploadPart({
    ...at,
    UploadId,
    PartNumber: 1,
    Body: PART,
    ...ofPart,
  });
  const complete = (conditions: object = {}, claimed: object = {}) =>
    buckets.s3.completeMultipartUpload({
      ...at,
      UploadId,
      MultipartUpload: { Parts: [{ PartNumber: 1, ETag: part.ETag, ...claimed }] },
      ...conditions,
    });
  return { ...at, UploadId, part, complete };
}

const CONFLICT = { code: "ConditionalRequestConflict", status: 409 };

test.each(["plain", "versioned"])(
  "an upload completes with If-None-Match only if its key was not deleted meanwhile (%s)",
  async (kind) => {
    const Bucket = await (kind === "plain" ? buckets.bucket() : buckets.versioned());
    await buckets.s3.putObject({ Bucket, Key: "k", Body: "old" });
    const first = await begin(Bucket);
    const exists = await s3FailureOf(first.complete({ IfNoneMatch: "*" }));
    expect(exists).toMatchObject({ code: "PreconditionFailed", status: 412 });
    await buckets.s3.deleteObject({ Bucket, Key: "k" });
    expect(await s3FailureOf(first.complete({ IfNoneMatch: "*" }))).toMatchObject(CONFLICT);
    expect(await textAt(Bucket)).toBe("404");
    const second = await begin(Bucket);
    await second.complete({ IfNoneMatch: "*" });
    expect(await textAt(Bucket)).toBe(PART);
  },
);

test("an upload completes with If-Match only if its key was not written meanwhile", async () => {
  const Bucket = await buckets.bucket();
  const at = { Bucket, Key: "k" };
  const { ETag } = await buckets.s3.putObject({ ...at, Body: "old" });
  const first = await begin(Bucket);
  await buckets.s3.putObject({ ...at, Body: "old" }); // The same bytes, so the ETag matches.
  expect(await s3FailureOf(first.complete({ IfMatch: ETag }))).toMatchObject(CONFLICT);
  await buckets.s3.putObject({ ...at, Body: "new" });
  const changed = await s3FailureOf(first.complete({ IfMatch: ETag }));
  expect(changed).toMatchObject({ code: "PreconditionFailed", status: 412 });
  await buckets.s3.deleteObject(at);
  const gone = await s3FailureOf(first.complete({ IfMatch: ETag }));
  expect(gone).toMatchObject({ code: "NoSuchKey", status: 404 });
  await first.complete(); // The upload is still there.
  const second = await begin(Bucket);
  const { ETag: current } = await buckets.s3.headObject(at);
  await second.complete({ IfMatch: current });
});

const V4 =
  "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=c&X-Amz-Date=20200101T000000Z" +
  "&X-Amz-Signature=s";
const V2 = "AWSAccessKeyId=a&Signature=s&Expires=99999999999";

test.each([
  [V4, "If-None-Match=*", 412],
  [V2, "if-none-match=*", 412],
  ["", "if-none-match=*", 412],
  [V4, `if-match=%22${md5("other")}%22`, 412],
  [V4, "x-amz-expected-bucket-owner=111111111111", 403],
  [V4, "X-Amz-Expected-Bucket-Owner=me", 400],
  [V4, "x-amz-object-lock-legal-hold=ON", 400],
  [V4, "x-amz-write-offset-bytes=3", 501],
  [V4, `content-md5=${encodeURIComponent(createHash("md5").digest("base64"))}`, 400],
  [V4, "x-amz-content-sha256=UNSIGNED-PAYLOAD", 200],
  [V4, `if-match=%22${md5("old")}%22`, 200],
])("a PUT of a URL with %s&%s is answered by its headers: %i", async (signed, query, status) => {
  const Bucket = await buckets.bucket();
  await buckets.raw("PUT", `/${Bucket}/k`, { body: "old" });
  const reply = await buckets.raw("PUT", `/${Bucket}/k?${signed}&${query}`, { body: "new" });
  expect([reply.status, await textAt(Bucket)]).toEqual([status, status === 200 ? "new" : "old"]);
});

test("a checksum in a URL is ignored unless the URL signs it as a header", async () => {
  const Bucket = await buckets.bucket();
  const ofNothing = "x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32";
  const put = (query: string) =>
    buckets.raw("PUT", `/${Bucket}/k?${V4}&${query}`, { body: "hello" });
  expect((await put(ofNothing)).status).toBe(200);
  const signed = await put(`X-Amz-SignedHeaders=host%3Bx-amz-checksum-crc32&${ofNothing}`);
  expect([signed.status, signed.code]).toEqual([400, "BadDigest"]);
});

test("a header that differs from the query of its URL is refused", async () => {
  const Bucket = await buckets.bucket();
  const headers = { "if-match": '"b"' };
  const reply = await buckets.raw("PUT", `/${Bucket}/k?${V4}&if-match=%22a%22`, { headers });
  expect([reply.status, reply.code, await textAt(Bucket)]).toEqual([400, "InvalidRequest", "404"]);
});

test.each([
  ["PUT", "/k", { "x-amz-checksum-crc16": "AAA=" }, 400, "InvalidRequest"],
  ["PUT", "/k", { "x-amz-unheard-of": "1" }, 501, "NotImplemented"],
  ["PUT", "/k", { "if-modified-since": "Mon, 01 Jan 1990 00:00:00 GMT" }, 501, "NotImplemented"],
  ["PUT", "/k?versionId=null", {}, 400, "InvalidArgument"],
  ["PUT", "/k?partNumber=1", {}, 400, "InvalidArgument"],
  ["PUT", "/k", { "x-amz-trailer": "x-amz-note" }, 400, "InvalidRequest"],
  ["PUT", "/k", { "x-amz-trailer": "x-amz-checksum-xxhash64" }, 501, "NotImplemented"],
  ["PUT", "?tagging", { "if-match": '"a"' }, 501, "NotImplemented"],
  ["DELETE", "/k", { "if-none-match": "*" }, 501, "NotImplemented"],
  ["DELETE", "/k", { "x-amz-if-match-size": "3" }, 501, "NotImplemented"],
  ["DELETE", "/k?versionId=null", { "if-match": '"a"' }, 501, "NotImplemented"],
  ["DELETE", "/k?partNumber=1", {}, 400, "InvalidArgument"],
] as const)("%s %s with %j changes nothing: %i %s", async (method, path, headers, status, code) => {
  const Bucket = await buckets.bucket();
  await buckets.raw("PUT", `/${Bucket}/k`, { body: "old" });
  const reply = await buckets.raw(method, `/${Bucket}${path}`, { headers: { ...headers } });
  expect([reply.status, reply.code, await textAt(Bucket)]).toEqual([status, code, "old"]);
});

test.each([
  ["<Size>3</Size>"],
  ["<LastModifiedTime>Mon, 01 Jan 1990 00:00:00 GMT</LastModifiedTime>"],
])("DeleteObjects with the condition %s deletes nothing", async (condition) => {
  const Bucket = await buckets.bucket();
  await buckets.raw("PUT", `/${Bucket}/k`, { body: "old" });
  const body = `<Delete><Object><Key>j</Key></Object><Object><Key>k</Key>${condition}</Object></Delete>`;
  const reply = await buckets.raw("POST", `/${Bucket}?delete`, { body });
  expect([reply.status, await textAt(Bucket)]).toEqual([501, "old"]);
});

test("DeleteObjects compares the ETag of each key, and has no such condition for versions", async () => {
  const Bucket = await buckets.versioned();
  for (const Key of ["k", "j", "v"]) await buckets.s3.putObject({ Bucket, Key, Body: Key });
  const { VersionId } = await buckets.s3.headObject({ Bucket, Key: "v" });
  const Objects = [
    { Key: "k", ETag: md5("other") },
    { Key: "j", ETag: md5("j") },
    { Key: "v", ETag: md5("v"), VersionId },
  ];
  const { Deleted, Errors } = await buckets.s3.deleteObjects({ Bucket, Delete: { Objects } });
  expect(Deleted?.map(({ Key }) => Key)).toEqual(["j"]);
  expect(Errors?.map(({ Key, Code }) => [Key, Code])).toEqual([
    ["k", "PreconditionFailed"],
    ["v", "NotImplemented"],
  ]);
  expect([await textAt(Bucket), await textAt(Bucket, "v")]).toEqual(["k", "v"]);
});

test.each(["MD5", "SHA512"])("a %s checksum is verified, stored and returned", async (name) => {
  const Bucket = await buckets.bucket();
  const header = `x-amz-checksum-${name.toLowerCase()}`;
  const value = createHash(name).update("hello").digest("base64");
  const put = await buckets.raw("PUT", `/${Bucket}/k`, {
    body: "hello",
    headers: { [header]: value },
  });
  expect([put.status, put.headers.get(header)]).toEqual([200, value]);
  const head = await buckets.raw("HEAD", `/${Bucket}/k`, {
    headers: { "x-amz-checksum-mode": "ENABLED" },
  });
  expect(head.headers.get(header)).toBe(value);
});

test("an upload in parts has a SHA512 checksum of checksums", async () => {
  const Bucket = await buckets.bucket();
  const digest = createHash("sha512").update(PART).digest();
  const ofPart = { ChecksumSHA512: digest.toString("base64") };
  const upload = await begin(Bucket, { ChecksumAlgorithm: "SHA512" }, ofPart);
  expect(upload.part).toMatchObject(ofPart);
  const made = await upload.complete({}, ofPart);
  const sum = createHash("sha512").update(digest).digest("base64");
  expect(made).toMatchObject({ ChecksumSHA512: `${sum}-1`, ChecksumType: "COMPOSITE" });
});

test.each([
  ["another value", "ChecksumSHA256", createHash("sha256").digest("base64"), 400, "InvalidPart"],
  ["another algorithm", "ChecksumSHA1", createHash("sha1").digest("base64"), 400, "InvalidPart"],
  ["no value", "ChecksumCRC32", undefined, 400, "InvalidRequest"],
  ["an unknown algorithm", "ChecksumXXHASH3", "AAAAAAAAAAA=", 501, "NotImplemented"],
])("an upload does not complete with %s for the checksum of a part", async (...row) => {
  const [, name, value, status, code] = row;
  const Bucket = await buckets.bucket();
  const upload = await begin(Bucket, { ChecksumAlgorithm: "SHA256" });
  const refused = await s3FailureOf(upload.complete({}, { [name]: value }));
  expect(refused).toMatchObject({ status, code });
  expect(await textAt(Bucket)).toBe("404");
  await upload.complete({}, { ChecksumSHA256: upload.part.ChecksumSHA256 });
  expect(await textAt(Bucket)).toBe(PART);
});

test("a copy has the redirect of its own request, never that of its source", async () => {
  const Bucket = await buckets.bucket();
  const at = (Key: string) => ({ Bucket, Key });
  const redirect = { WebsiteRedirectLocation: "/there" };
  await buckets.s3.putObject({ ...at("k"), Body: "x", ...redirect });
  const CopySource = `${Bucket}/k`;
  await buckets.s3.copyObject({ ...at("plain"), CopySource });
  const plain = await buckets.s3.headObject(at("plain"));
  expect(plain.WebsiteRedirectLocation).toBeUndefined();
  const moved = { WebsiteRedirectLocation: "https://example.com/" };
  await buckets.s3.copyObject({ ...at("k"), CopySource, ...moved });
  expect(await buckets.s3.headObject(at("k"))).toMatchObject(moved);
});

test("a bucket is not created with Object Lock, which it would not have", async () => {
  const Bucket = buckets.freshName();
  const refused = buckets.s3.createBucket({ Bucket, ObjectLockEnabledForBucket: true });
  expect(await s3FailureOf(refused)).toMatchObject({ code: "NotImplemented", status: 501 });
  expect((await buckets.raw("HEAD", `/${Bucket}`)).status).toBe(404);
  await buckets.s3.createBucket({ Bucket, ObjectLockEnabledForBucket: false });
});
