import { expect, test } from "vitest";
import { s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();

test.each([
  "ab",
  "UPPER",
  "under_score",
  "-begins",
  "ends-",
  "dots..twice",
  "dot.-dash",
  "192.168.0.1",
  "xn--punycode",
  "alias-s3alias",
  "x".repeat(64),
  "%2e%2e",
  "a%2fb",
])("the bucket name %s is refused", async (name) => {
  const refused = await buckets.raw("PUT", `/${name}`);
  expect([refused.status, refused.code]).toEqual([400, "InvalidBucketName"]);
});

test("creating a bucket again succeeds in us-east-1 and is refused in any other region", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.createBucket({ Bucket });
  const other = buckets.freshName();
  const CreateBucketConfiguration = { LocationConstraint: "eu-north-1" as const };
  await buckets.s3.createBucket({ Bucket: other, CreateBucketConfiguration });
  const again = s3FailureOf(buckets.s3.createBucket({ Bucket: other, CreateBucketConfiguration }));
  expect(await again).toMatchObject({ code: "BucketAlreadyOwnedByYou", status: 409 });
  const where = await buckets.s3.getBucketLocation({ Bucket: other });
  expect(where.LocationConstraint).toBe("eu-north-1");
  expect((await buckets.s3.getBucketLocation({ Bucket })).LocationConstraint).toBeUndefined();
  const head = await buckets.s3.headBucket({ Bucket: other });
  expect(head.BucketRegion).toBe("eu-north-1");
  const odd = await buckets.raw("PUT", "/odd-region", {
    body: "<CreateBucketConfiguration><LocationConstraint>moon</LocationConstraint></CreateBucketConfiguration>",
  });
  expect(odd.code).toBe("InvalidLocationConstraint");
});

test("an error is an XML document with code, message, resource and both ids", async () => {
  const { status, headers, body } = await buckets.raw("GET", "/nowhere/k%20ey?x=<");
  expect([status, headers.get("content-type")]).toEqual([404, "application/xml"]);
  expect(body).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchBucket</Code>' +
      "<Message>The specified bucket does not exist</Message><BucketName>nowhere</BucketName>" +
      "<Resource>/nowhere/k%20ey</Resource>" +
      `<RequestId>${headers.get("x-amz-request-id")}</RequestId>` +
      `<HostId>${headers.get("x-amz-id-2")}</HostId></Error>`,
  );
  const head = await buckets.raw("HEAD", "/nowhere/key");
  expect([head.status, head.body]).toEqual([404, ""]);
});

const BOMB =
  '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' +
  "<Delete><Object><Key>&b;</Key></Object></Delete>";

test.each([
  ["nothing", ""],
  ["text that is not XML", "hello"],
  ["an element that is not closed", "<Delete><Object><Key>a</Key></Object>"],
  ["another document", "<Tagging><TagSet/></Tagging>"],
  ["two documents", "<Delete></Delete><Delete></Delete>"],
  ["a document type", BOMB],
  ["an unknown entity", "<Delete><Object><Key>&what;</Key></Object></Delete>"],
  ["a lone surrogate", "<Delete><Object><Key>&#xd800;</Key></Object></Delete>"],
  [
    "a surrogate pair as two references",
    "<Delete><Object><Key>&#xd83d;&#xde00;</Key></Object></Delete>",
  ],
  ["an external entity", '<!DOCTYPE d SYSTEM "file:///etc/passwd"><Delete/>'],
  ["no object", "<Delete><Quiet>true</Quiet></Delete>"],
  ["an object without a key", "<Delete><Object><VersionId>null</VersionId></Object></Delete>"],
  ["deep nesting", "<Delete>".repeat(5_000)],
  [
    "more keys than are allowed",
    `<Delete>${"<Object><Key>k</Key></Object>".repeat(1_001)}</Delete>`,
  ],
  ["bytes that are not UTF-8", Buffer.from([0x3c, 0xff, 0xfe])],
])("a document with %s is malformed and deletes nothing", async (_, body) => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
  const refused = await buckets.raw("POST", `/${Bucket}?delete`, { body });
  expect([refused.status, refused.code]).toEqual([400, "MalformedXML"]);
  expect((await buckets.s3.listObjectsV2({ Bucket })).KeyCount).toBe(1);
});

test("keys in documents are preserved: entities, spaces, numbers, markup", async () => {
  const Bucket = await buckets.bucket();
  const keys = ["a&b<c>\"'", " spaced ", "007", "\r", "<![CDATA[x]]>", "ü🌊"];
  for (const Key of keys) await buckets.s3.putObject({ Bucket, Key, Body: "x" });
  const Objects = keys.map((Key) => ({ Key }));
  const { Deleted, Errors } = await buckets.s3.deleteObjects({ Bucket, Delete: { Objects } });
  expect([Deleted?.length, Errors]).toEqual([keys.length, undefined]);
  expect((await buckets.s3.listObjectsV2({ Bucket })).KeyCount).toBe(0);
});

test("a key of 1,024 bytes is accepted, one byte more is refused", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "é".repeat(512), Body: "x" });
  const refused = s3FailureOf(
    buckets.s3.putObject({ Bucket, Key: `${"é".repeat(512)}a`, Body: "x" }),
  );
  expect(await refused).toMatchObject({ code: "KeyTooLongError", status: 400 });
});

test.each([
  ["GET", "/%ff", "InvalidURI", 400],
  ["GET", "/BUCKET/%c3", "InvalidURI", 400],
  ["PUT", "/BUCKET?replication", "NotImplemented", 501],
  ["PUT", "/BUCKET?object-lock", "NotImplemented", 501],
  ["PUT", "/BUCKET/k?acl", "NotImplemented", 501],
  ["GET", "/BUCKET/k?torrent", "NotImplemented", 501],
  ["DELETE", "/BUCKET?replication", "NotImplemented", 501],
  ["POST", "/BUCKET", "MethodNotAllowed", 405],
  ["PATCH", "/BUCKET/k", "MethodNotAllowed", 405],
  ["GET", "/BUCKET?policy", "NoSuchBucketPolicy", 404],
  ["GET", "/BUCKET?tagging", "NoSuchTagSet", 404],
  ["GET", "/BUCKET/none", "NoSuchKey", 404],
])("%s %s is refused with %s", async (method, path, code, status) => {
  const Bucket = await buckets.bucket();
  const refused = await buckets.raw(method, path.replace("BUCKET", Bucket));
  expect([refused.code, refused.status]).toEqual([code, status]);
});

test("a page of another site cannot call", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
  const headers = { "sec-fetch-site": "cross-site", "content-type": "text/plain" };
  const body = "<Delete><Object><Key>k</Key></Object></Delete>";
  const refused = await buckets.raw("POST", `/${Bucket}?delete`, { headers, body });
  expect([refused.status, refused.code]).toEqual([403, "AccessDenied"]);
  expect((await buckets.s3.listObjectsV2({ Bucket })).KeyCount).toBe(1);
});

test("a body without a length is refused, and one over 5 GiB before it is sent", async () => {
  const Bucket = await buckets.bucket();
  const unknown = await buckets.raw("PUT", `/${Bucket}/k`, {
    headers: { "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" },
  });
  expect([unknown.status, unknown.code]).toEqual([411, "MissingContentLength"]);
  const huge = await buckets.raw("PUT", `/${Bucket}/k`, {
    headers: {
      "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
      "x-amz-decoded-content-length": String(5 * 1_024 ** 3 + 1),
    },
  });
  expect([huge.status, huge.code]).toEqual([400, "EntityTooLarge"]);
});

test("default settings of a bucket are returned, for tools that read all of them", async () => {
  const Bucket = await buckets.bucket();
  const { s3 } = buckets;
  const encryption = await s3.getBucketEncryption({ Bucket });
  expect(encryption.ServerSideEncryptionConfiguration?.Rules).toHaveLength(1);
  expect((await s3.getBucketAcl({ Bucket })).Grants).toMatchObject([
    { Permission: "FULL_CONTROL" },
  ]);
  expect((await s3.getBucketRequestPayment({ Bucket })).Payer).toBe("BucketOwner");
  expect((await s3FailureOf(s3.getBucketCors({ Bucket }))).code).toBe("NoSuchCORSConfiguration");
});
