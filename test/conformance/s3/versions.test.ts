import { expect, test } from "vitest";
import { bodyTextOf, s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();

async function suspend(Bucket: string) {
  const VersioningConfiguration = { Status: "Suspended" as const };
  await buckets.s3.putBucketVersioning({ Bucket, VersioningConfiguration });
}

test("a bucket without versioning returns no versions and keeps one object per key", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  expect((await buckets.s3.getBucketVersioning(at)).Status).toBeUndefined();
  expect((await buckets.s3.putObject({ ...at, Body: "1" })).VersionId).toBeUndefined();
  await buckets.s3.putObject({ ...at, Body: "2" });
  const { Versions } = await buckets.s3.listObjectVersions(at);
  expect(Versions?.map(({ VersionId, IsLatest }) => [VersionId, IsLatest])).toEqual([
    ["null", true],
  ]);
});

test("every put is a version, each can be read, and the newest is the current one", async () => {
  const at = { Bucket: await buckets.versioned(), Key: "k" };
  expect((await buckets.s3.getBucketVersioning(at)).Status).toBe("Enabled");
  const one = await buckets.s3.putObject({ ...at, Body: "1" });
  const two = await buckets.s3.putObject({ ...at, Body: "2" });
  expect(one.VersionId).not.toBe(two.VersionId);
  expect(await bodyTextOf(buckets.s3.getObject(at))).toBe("2");
  expect(await bodyTextOf(buckets.s3.getObject({ ...at, VersionId: one.VersionId }))).toBe("1");
  await buckets.s3.deleteObject({ ...at, VersionId: two.VersionId });
  expect(await bodyTextOf(buckets.s3.getObject(at))).toBe("1");
});

test("deleting adds a marker; deleting the marker restores the object", async () => {
  const at = { Bucket: await buckets.versioned(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "1" });
  const marker = await buckets.s3.deleteObject(at);
  expect(marker.DeleteMarker).toBe(true);
  const gone = await s3FailureOf(buckets.s3.getObject(at));
  expect(gone).toMatchObject({ code: "NoSuchKey", status: 404 });
  const head = await buckets.raw("HEAD", `/${at.Bucket}/k`);
  expect(head.headers.get("x-amz-delete-marker")).toBe("true");
  const onMarker = { ...at, VersionId: marker.VersionId };
  const refused = await s3FailureOf(buckets.s3.getObject(onMarker));
  expect(refused).toMatchObject({ code: "MethodNotAllowed", status: 405 });
  expect((await buckets.s3.listObjectsV2(at)).KeyCount).toBe(0);
  const listed = await buckets.s3.listObjectVersions(at);
  expect(listed.DeleteMarkers).toMatchObject([{ Key: "k", IsLatest: true }]);
  expect(listed.Versions).toMatchObject([{ Key: "k", IsLatest: false }]);
  const undone = await buckets.s3.deleteObject(onMarker);
  expect(undone).toMatchObject({ DeleteMarker: true, VersionId: marker.VersionId });
  expect(await bodyTextOf(buckets.s3.getObject(at))).toBe("1");
});

test("while suspended, only the null version is replaced", async () => {
  const at = { Bucket: await buckets.versioned(), Key: "k" };
  const versioned = await buckets.s3.putObject({ ...at, Body: "versioned" });
  await suspend(at.Bucket);
  expect((await buckets.s3.putObject({ ...at, Body: "null 1" })).VersionId).toBe("null");
  await buckets.s3.putObject({ ...at, Body: "null 2" });
  const ids = async () => {
    const { Versions = [], DeleteMarkers = [] } = await buckets.s3.listObjectVersions(at);
    return [Versions.map((v) => v.VersionId), DeleteMarkers.map((v) => v.VersionId)];
  };
  expect(await ids()).toEqual([["null", versioned.VersionId], []]);
  expect(await buckets.s3.deleteObject(at)).toMatchObject({ VersionId: "null" });
  expect(await ids()).toEqual([[versioned.VersionId], ["null"]]);
  const nulled = { ...at, VersionId: versioned.VersionId };
  expect(await bodyTextOf(buckets.s3.getObject(nulled))).toBe("versioned");
});

test("an object from before versioning is the null version", async () => {
  const at = { Bucket: await buckets.bucket(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "old" });
  const VersioningConfiguration = { Status: "Enabled" as const };
  await buckets.s3.putBucketVersioning({ ...at, VersioningConfiguration });
  await buckets.s3.putObject({ ...at, Body: "new" });
  expect(await bodyTextOf(buckets.s3.getObject({ ...at, VersionId: "null" }))).toBe("old");
});

test("malformed and unknown version ids are refused with different errors", async () => {
  const at = { Bucket: await buckets.versioned(), Key: "k" };
  await buckets.s3.putObject({ ...at, Body: "1" });
  const bad = s3FailureOf(buckets.s3.getObject({ ...at, VersionId: "what" }));
  expect(await bad).toMatchObject({ code: "InvalidArgument", status: 400 });
  const never = s3FailureOf(buckets.s3.getObject({ ...at, VersionId: "0".repeat(32) }));
  expect(await never).toMatchObject({ code: "NoSuchVersion", status: 404 });
});

test("versions are listed newest first within a key, page by page", async () => {
  const Bucket = await buckets.versioned();
  const put: [string, string | undefined][] = [];
  for (const Key of ["a", "b", "b", "b", "c"]) {
    put.push([Key, (await buckets.s3.putObject({ Bucket, Key, Body: "x" })).VersionId]);
  }
  const expected = ["a", "b", "c"].flatMap((key) => put.filter(([k]) => k === key).reverse());
  const listed: unknown[] = [];
  let from: { KeyMarker?: string; VersionIdMarker?: string } = {};
  for (;;) {
    const page = await buckets.s3.listObjectVersions({ Bucket, MaxKeys: 2, ...from });
    listed.push(...(page.Versions ?? []).map(({ Key, VersionId }) => [Key, VersionId]));
    if (page.IsTruncated !== true) break;
    from = { KeyMarker: page.NextKeyMarker!, VersionIdMarker: page.NextVersionIdMarker! };
  }
  expect(listed).toEqual(expected);
});

test("a bucket that contains only a delete marker is not empty", async () => {
  const at = { Bucket: await buckets.versioned(), Key: "k" };
  const { VersionId } = await buckets.s3.deleteObject(at);
  const refused = s3FailureOf(buckets.s3.deleteBucket(at));
  expect(await refused).toMatchObject({ code: "BucketNotEmpty", status: 409 });
  await buckets.s3.deleteObject({ ...at, VersionId });
  await buckets.s3.deleteBucket(at);
  expect(await s3FailureOf(buckets.s3.listObjectsV2(at))).toMatchObject({ code: "NoSuchBucket" });
});

test("a bucket can be emptied page by page, although the last version of a page is deleted", async () => {
  const Bucket = await buckets.versioned();
  for (const Key of ["a", "a", "a", "a", "a", "b", "b"]) {
    await buckets.s3.putObject({ Bucket, Key, Body: "x" });
  }
  await buckets.s3.deleteObject({ Bucket, Key: "b" });
  const listed: string[] = [];
  let at: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } = {};
  for (let more = true; more; ) {
    const page = await buckets.s3.listObjectVersions({ Bucket, MaxKeys: 2, ...at });
    for (const each of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])]) {
      listed.push(`${each.Key} ${each.IsLatest}`);
      await buckets.s3.deleteObject({ Bucket, Key: each.Key, VersionId: each.VersionId });
    }
    more = page.IsTruncated === true;
    at = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
  }
  expect(listed).toHaveLength(8);
  await buckets.s3.deleteBucket({ Bucket });
});

test("a marker before the prefix does not end the listing", async () => {
  const Bucket = await buckets.versioned();
  const a = await buckets.s3.putObject({ Bucket, Key: "a", Body: "x" });
  await buckets.s3.putObject({ Bucket, Key: "b", Body: "x" });
  const within = { Bucket, Prefix: "b", KeyMarker: "a" };
  const listed = await buckets.s3.listObjectVersions({ ...within, VersionIdMarker: a.VersionId });
  expect(listed.Versions?.map(({ Key }) => Key)).toEqual(["b"]);
  const wrong = await s3FailureOf(
    buckets.s3.listObjectVersions({ ...within, VersionIdMarker: "no version" }),
  );
  expect(wrong).toMatchObject({ code: "InvalidArgument", status: 400 });
  await buckets.s3.createMultipartUpload({ Bucket, Key: "b" });
  const uploads = await buckets.s3.listMultipartUploads({ ...within, UploadIdMarker: "0" });
  expect(uploads.Uploads?.map(({ Key }) => Key)).toEqual(["b"]);
});
