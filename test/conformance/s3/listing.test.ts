import fc from "fast-check";
import { expect, test } from "vitest";
import { s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();

async function fill(keys: readonly string[]): Promise<string> {
  const Bucket = await buckets.bucket();
  await Promise.all(keys.map((Key) => buckets.s3.putObject({ Bucket, Key, Body: "x" })));
  return Bucket;
}

interface Listing {
  readonly Prefix?: string;
  readonly Delimiter?: string;
  readonly MaxKeys?: number;
  readonly StartAfter?: string;
}

/** All pages: keys and common prefixes, in order. */
async function listAll(Bucket: string, listing: Listing): Promise<string[]> {
  const items: string[] = [];
  let ContinuationToken: string | undefined;
  do {
    const from = ContinuationToken === undefined ? {} : { ContinuationToken };
    const page = await buckets.s3.listObjectsV2({ Bucket, ...listing, ...from });
    const keys = (page.Contents ?? []).map(({ Key = "" }) => Key);
    const prefixes = (page.CommonPrefixes ?? []).map(({ Prefix = "" }) => Prefix);
    expect(page.KeyCount).toBe(keys.length + prefixes.length);
    items.push(...[...keys, ...prefixes].sort(byBytes));
    ContinuationToken = page.NextContinuationToken;
    expect(page.IsTruncated).toBe(ContinuationToken !== undefined);
  } while (ContinuationToken !== undefined);
  return items;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The simplest model of a listing. */
function naive(keys: readonly string[], listing: Listing): string[] {
  const { Prefix = "", Delimiter = "", StartAfter = "" } = listing;
  const items = new Set<string>();
  for (const key of keys) {
    if (!key.startsWith(Prefix)) continue;
    const at = Delimiter === "" ? -1 : key.indexOf(Delimiter, Prefix.length);
    items.add(at === -1 ? key : key.slice(0, at + Delimiter.length));
  }
  return [...items].filter((item) => byBytes(item, StartAfter) > 0).sort(byBytes);
}

test("any listing equals that of a simple model, page by page", async () => {
  const unit = fc.constantFrom("a", "b", "/", "é", "\u{ffff}", "\u{1f30a}", " ", "+", "%");
  const key = fc.string({ unit, minLength: 1, maxLength: 5 });
  const listing = fc.record(
    {
      Prefix: fc.string({ unit, maxLength: 2 }),
      Delimiter: fc.constantFrom("/", "a", "é/"),
      StartAfter: fc.string({ unit, maxLength: 3 }),
      MaxKeys: fc.integer({ min: 1, max: 4 }),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 12 }),
      fc.array(listing, { minLength: 1, maxLength: 4 }),
      async (keys, listings) => {
        const Bucket = await fill(keys);
        for (const each of listings) expect(await listAll(Bucket, each)).toEqual(naive(keys, each));
      },
    ),
    { numRuns: 40 },
  );
});

test("keys that differ only in case, dots or slashes are different objects, in byte order", async () => {
  const keys = ["A", "a", "a/", "a//b", "a/../b", "./a", "..", "../../etc/passwd", "a\\b"];
  const Bucket = await buckets.bucket();
  for (const key of keys) {
    const path = `/${Bucket}/${encodeURIComponent(key)}`;
    expect((await buckets.raw("PUT", path, { body: key })).status).toBe(200);
  }
  expect(await listAll(Bucket, {})).toEqual(keys.toSorted(byBytes));
  for (const key of keys) {
    const got = await buckets.raw("GET", `/${Bucket}/${encodeURIComponent(key)}`);
    expect(got.body).toBe(key);
  }
});

test("names are percent-encoded if requested", async () => {
  const Bucket = await fill(["a b/ü+", "\u0001"]);
  const { body } = await buckets.raw("GET", `/${Bucket}?list-type=2&encoding-type=url`);
  expect(body).toContain("<Key>a+b/%C3%BC%2B</Key>");
  expect(body).toContain("<Key>%01</Key>");
  const raw = await buckets.raw("GET", `/${Bucket}?list-type=2`);
  expect(raw.body).toContain("<Key>&#x1;</Key>");
});

test("ListObjects pages by keys, and returns NextMarker only with a delimiter", async () => {
  const Bucket = await fill(["a/1", "a/2", "b/1", "c"]);
  const first = await buckets.s3.listObjects({ Bucket, Delimiter: "/", MaxKeys: 2 });
  expect(first.CommonPrefixes).toEqual([{ Prefix: "a/" }, { Prefix: "b/" }]);
  expect(first.NextMarker).toBe("b/");
  const Marker = first.NextMarker!;
  const second = await buckets.s3.listObjects({ Bucket, Delimiter: "/", Marker });
  expect(second.Contents?.map(({ Key }) => Key)).toEqual(["c"]);
  expect(second.IsTruncated).toBe(false);
  const raw = await buckets.s3.listObjects({ Bucket, MaxKeys: 1 });
  expect([raw.IsTruncated, raw.NextMarker]).toEqual([true, undefined]);
});

test.each(["max-keys=-1", "max-keys=x", "continuation-token=!", "encoding-type=base64"])(
  "a listing with %s is refused",
  async (parameter) => {
    const Bucket = await buckets.bucket();
    const refused = await buckets.raw("GET", `/${Bucket}?list-type=2&${parameter}`);
    expect([refused.status, refused.code]).toEqual([400, "InvalidArgument"]);
  },
);

test("a page of no keys is empty and the last", async () => {
  const Bucket = await fill(["a"]);
  const page = await buckets.s3.listObjectsV2({ Bucket, MaxKeys: 0 });
  expect(page).toMatchObject({ KeyCount: 0, IsTruncated: false });
});

test("buckets are listed by name, by prefix and in pages", async () => {
  const prefix = `paged-${buckets.freshName()}`;
  for (const letter of ["c", "a", "b"]) {
    await buckets.s3.createBucket({ Bucket: `${prefix}-${letter}` });
  }
  const first = await buckets.s3.listBuckets({ Prefix: prefix, MaxBuckets: 2 });
  expect(first.Buckets?.map(({ Name }) => Name)).toEqual([`${prefix}-a`, `${prefix}-b`]);
  const { ContinuationToken } = first;
  const rest = await buckets.s3.listBuckets({
    Prefix: prefix,
    ContinuationToken: ContinuationToken!,
  });
  expect(rest.Buckets?.map(({ Name }) => Name)).toEqual([`${prefix}-c`]);
  expect(await s3FailureOf(buckets.s3.listObjectsV2({ Bucket: "nowhere" }))).toMatchObject({
    code: "NoSuchBucket",
    status: 404,
  });
});
