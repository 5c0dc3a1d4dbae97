// Bucket configurations: what a client stores comes back, and what S3 refuses is refused.

import type { S3 } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { s3FailureOf, useBuckets } from "../../support/s3-buckets.ts";

const buckets = useBuckets();

type Call = (s3: S3, Bucket: string) => Promise<object>;

interface Config {
  readonly put: Call;
  readonly get: Call;
  readonly remove: Call;
  readonly stored: object;
  /** A new bucket, and a bucket after the delete: the value or the code of the refusal. */
  readonly initial: object | string;
  readonly deleted: object | string;
}

const ALL = {
  BlockPublicAcls: true,
  IgnorePublicAcls: true,
  BlockPublicPolicy: true,
  RestrictPublicBuckets: true,
};
const AES = {
  ServerSideEncryptionConfiguration: {
    Rules: [
      {
        ApplyServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" as const },
        BucketKeyEnabled: false,
      },
    ],
  },
};
const KMS = {
  Rules: [
    {
      ApplyServerSideEncryptionByDefault: {
        SSEAlgorithm: "aws:kms" as const,
        KMSMasterKeyID: "alias/lake",
      },
      BucketKeyEnabled: true,
    },
  ],
};
const CORS = [
  {
    ID: "site",
    AllowedOrigins: ["https://example.com"],
    AllowedMethods: ["GET", "PUT"],
    AllowedHeaders: ["x-*"],
    ExposeHeaders: ["ETag"],
    MaxAgeSeconds: 60,
  },
  { AllowedOrigins: ["*"], AllowedMethods: ["GET"] },
];
const LIFECYCLE = [
  {
    ID: "old",
    Status: "Enabled" as const,
    Filter: { Prefix: "tmp/" },
    Expiration: { Days: 30 },
    Transitions: [{ Days: 0, StorageClass: "GLACIER" as const }],
  },
];

const CONFIGS: Record<string, Config> = {
  "public access block": {
    put: (s3, Bucket) =>
      s3.putPublicAccessBlock({
        Bucket,
        PublicAccessBlockConfiguration: { BlockPublicAcls: true },
      }),
    get: (s3, Bucket) => s3.getPublicAccessBlock({ Bucket }),
    remove: (s3, Bucket) => s3.deletePublicAccessBlock({ Bucket }),
    stored: {
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        IgnorePublicAcls: false,
        BlockPublicPolicy: false,
        RestrictPublicBuckets: false,
      },
    },
    initial: { PublicAccessBlockConfiguration: ALL },
    deleted: "NoSuchPublicAccessBlockConfiguration",
  },
  encryption: {
    put: (s3, Bucket) => s3.putBucketEncryption({ Bucket, ServerSideEncryptionConfiguration: KMS }),
    get: (s3, Bucket) => s3.getBucketEncryption({ Bucket }),
    remove: (s3, Bucket) => s3.deleteBucketEncryption({ Bucket }),
    stored: { ServerSideEncryptionConfiguration: KMS },
    initial: AES,
    deleted: AES,
  },
  lifecycle: {
    put: (s3, Bucket) =>
      s3.putBucketLifecycleConfiguration({
        Bucket,
        LifecycleConfiguration: { Rules: LIFECYCLE },
      }),
    get: (s3, Bucket) => s3.getBucketLifecycleConfiguration({ Bucket }),
    remove: (s3, Bucket) => s3.deleteBucketLifecycle({ Bucket }),
    stored: {
      Rules: LIFECYCLE,
      TransitionDefaultMinimumObjectSize: "all_storage_classes_128K",
    },
    initial: "NoSuchLifecycleConfiguration",
    deleted: "NoSuchLifecycleConfiguration",
  },
  "ownership controls": {
    put: (s3, Bucket) =>
      s3.putBucketOwnershipControls({
        Bucket,
        OwnershipControls: { Rules: [{ ObjectOwnership: "ObjectWriter" }] },
      }),
    get: (s3, Bucket) => s3.getBucketOwnershipControls({ Bucket }),
    remove: (s3, Bucket) => s3.deleteBucketOwnershipControls({ Bucket }),
    stored: { OwnershipControls: { Rules: [{ ObjectOwnership: "ObjectWriter" }] } },
    initial: { OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] } },
    deleted: "OwnershipControlsNotFoundError",
  },
  CORS: {
    put: (s3, Bucket) => s3.putBucketCors({ Bucket, CORSConfiguration: { CORSRules: CORS } }),
    get: (s3, Bucket) => s3.getBucketCors({ Bucket }),
    remove: (s3, Bucket) => s3.deleteBucketCors({ Bucket }),
    stored: { CORSRules: CORS },
    initial: "NoSuchCORSConfiguration",
    deleted: "NoSuchCORSConfiguration",
  },
  website: {
    put: (s3, Bucket) =>
      s3.putBucketWebsite({
        Bucket,
        WebsiteConfiguration: { IndexDocument: { Suffix: "index.html" } },
      }),
    get: (s3, Bucket) => s3.getBucketWebsite({ Bucket }),
    remove: (s3, Bucket) => s3.deleteBucketWebsite({ Bucket }),
    stored: { IndexDocument: { Suffix: "index.html" } },
    initial: "NoSuchWebsiteConfiguration",
    deleted: "NoSuchWebsiteConfiguration",
  },
};

async function expectConfig(config: Config, Bucket: string, value: object | string) {
  if (typeof value === "string") {
    const refused = await s3FailureOf(config.get(buckets.s3, Bucket));
    expect(refused).toMatchObject({ code: value, status: 404 });
    return;
  }
  const { $metadata: _, ...shown } = (await config.get(buckets.s3, Bucket)) as Record<
    string,
    unknown
  >;
  expect(shown).toEqual(value);
}

test.each(Object.entries(CONFIGS))("%s is stored, returned and deleted", async (_, config) => {
  const Bucket = await buckets.bucket();
  await expectConfig(config, Bucket, config.initial);
  await config.put(buckets.s3, Bucket);
  await expectConfig(config, Bucket, config.stored);
  await config.remove(buckets.s3, Bucket);
  await expectConfig(config, Bucket, config.deleted);
  await config.remove(buckets.s3, Bucket);
});

test.each(Object.entries(CONFIGS))("%s of a bucket that does not exist: 404", async (_, config) => {
  for (const call of [config.put, config.get, config.remove]) {
    const refused = await s3FailureOf(call(buckets.s3, "no-such-bucket"));
    expect(refused).toMatchObject({ code: "NoSuchBucket", status: 404 });
  }
});

test("a bucket policy is stored as it was written, and its status is known", async () => {
  const Bucket = await buckets.bucket();
  const missing = await s3FailureOf(buckets.s3.getBucketPolicy({ Bucket }));
  expect(missing).toMatchObject({ code: "NoSuchBucketPolicy", status: 404 });
  const statement = {
    Effect: "Allow",
    Principal: "*",
    Action: "s3:GetObject",
    Resource: `arn:aws:s3:::${Bucket}/*`,
  };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: statement }, null, 1);
  await buckets.s3.putBucketPolicy({ Bucket, Policy });
  expect((await buckets.s3.getBucketPolicy({ Bucket })).Policy).toBe(Policy);
  const { PolicyStatus } = await buckets.s3.getBucketPolicyStatus({ Bucket });
  expect(PolicyStatus).toEqual({ IsPublic: true });
  await buckets.s3.deleteBucketPolicy({ Bucket });
  await buckets.s3.deleteBucketPolicy({ Bucket });
  expect(await s3FailureOf(buckets.s3.getBucketPolicy({ Bucket }))).toMatchObject({ status: 404 });
});

test.each([
  ["not JSON", "[1]", "Policies must be valid JSON and the first byte must be '{'"],
  ["without a statement", "{}", "Missing required field Statement"],
  [
    "of another bucket",
    JSON.stringify({
      Statement: [
        { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: "arn:aws:s3:::other/*" },
      ],
    }),
    "Policy has invalid resource",
  ],
])("a bucket policy that is %s is refused", async (_, Policy, message) => {
  const Bucket = await buckets.bucket();
  const refused = await s3FailureOf(buckets.s3.putBucketPolicy({ Bucket, Policy }));
  expect(refused).toMatchObject({ code: "MalformedPolicy", status: 400, message });
});

const cors = (rule: string) =>
  `<CORSConfiguration><CORSRule>${rule}</CORSRule></CORSConfiguration>`;

test.each([
  ["cors", cors("<AllowedOrigin>*</AllowedOrigin>"), "MalformedXML"],
  [
    "cors",
    cors("<AllowedOrigin>*</AllowedOrigin><AllowedMethod>PATCH</AllowedMethod>"),
    "InvalidRequest",
  ],
  [
    "cors",
    cors("<AllowedOrigin>http://*.*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"),
    "InvalidRequest",
  ],
  ["encryption", "<ServerSideEncryptionConfiguration/>", "MalformedXML"],
  ["lifecycle", "<LifecycleConfiguration/>", "MalformedXML"],
  [
    "lifecycle",
    "<LifecycleConfiguration><Rule><Status>Enabled</Status><Prefix/></Rule></LifecycleConfiguration>",
    "InvalidRequest",
  ],
  [
    "lifecycle",
    "<LifecycleConfiguration><Rule><Status>Enabled</Status><Prefix/><Expiration><Days>0</Days>" +
      "</Expiration></Rule></LifecycleConfiguration>",
    "InvalidArgument",
  ],
  ["ownershipControls", "<OwnershipControls/>", "MalformedXML"],
  ["publicAccessBlock", "<Wrong/>", "MalformedXML"],
])("a wrong %s document is refused and changes nothing", async (name, body, code) => {
  const Bucket = await buckets.bucket();
  const before = (await buckets.raw("GET", `/${Bucket}?${name}`)).body;
  const refused = await buckets.raw("PUT", `/${Bucket}?${name}`, { body });
  expect([refused.status, refused.code]).toEqual([400, code]);
  const shape = (text: string) => text.replace(/<(RequestId|HostId)>.*?<\/\1>/g, "");
  expect(shape((await buckets.raw("GET", `/${Bucket}?${name}`)).body)).toBe(shape(before));
});

test("the tags of CreateBucket are the bucket's tags", async () => {
  const Bucket = buckets.freshName();
  const Tags = [{ Key: "team", Value: "lake" }];
  await buckets.s3.createBucket({ Bucket, CreateBucketConfiguration: { Tags } });
  expect((await buckets.s3.getBucketTagging({ Bucket })).TagSet).toEqual(Tags);
});

async function bucketWithCors(): Promise<string> {
  const Bucket = await buckets.bucket();
  await buckets.s3.putBucketCors({ Bucket, CORSConfiguration: { CORSRules: CORS.slice(0, 1) } });
  return Bucket;
}

const origin = "https://example.com";

test("a page that the CORS rules allow may preflight, write and read", async () => {
  const Bucket = await bucketWithCors();
  const preflight = await buckets.raw("OPTIONS", `/${Bucket}/k`, {
    headers: {
      origin,
      "access-control-request-method": "PUT",
      "access-control-request-headers": "X-Amz-Date, x-own",
    },
  });
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("x-amz-date, x-own");
  expect(preflight.headers.get("access-control-max-age")).toBe("60");
  const headers = { origin, "sec-fetch-site": "cross-site" };
  const put = await buckets.raw("PUT", `/${Bucket}/k`, { headers, body: "x" });
  expect(put.status).toBe(200);
  const got = await buckets.raw("GET", `/${Bucket}/k`, { headers });
  expect([got.status, got.body]).toEqual([200, "x"]);
  expect(got.headers.get("access-control-allow-origin")).toBe(origin);
  expect(got.headers.get("access-control-expose-headers")).toBe("ETag");
});

test.each([
  ["of another origin", { origin: "https://evil.example" }, "PUT"],
  ["with a method that no rule has", { origin }, "DELETE"],
])("a request of a page %s is refused and has no effect", async (_, headers, method) => {
  const Bucket = await bucketWithCors();
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "before" });
  const preflight = await buckets.raw("OPTIONS", `/${Bucket}/k`, {
    headers: { ...headers, "access-control-request-method": method },
  });
  expect([preflight.status, preflight.code]).toEqual([403, "AccessForbidden"]);
  const body = method === "PUT" ? { body: "after" } : {};
  const sent = await buckets.raw(method, `/${Bucket}/k`, { headers, ...body });
  expect(sent.status).toBe(403);
  const { Body } = await buckets.s3.getObject({ Bucket, Key: "k" });
  expect(await Body?.transformToString()).toBe("before");
});

test("a bucket without CORS rules refuses every preflight", async () => {
  const Bucket = await buckets.bucket();
  const refused = await buckets.raw("OPTIONS", `/${Bucket}/k`, {
    headers: { origin, "access-control-request-method": "GET" },
  });
  expect([refused.status, refused.code]).toEqual([403, "AccessForbidden"]);
});
