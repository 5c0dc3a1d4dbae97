// Parameter requests: a bucket in which every action of S3 has something to do, and a request of
// each action that S3 accepts.

import { S3_ACTIONS } from "../../../src/broker/wire/s3/s3-routes.ts";
import type { Buckets, RawS3Answer } from "../../support/s3-buckets.ts";

export type Parameters = Readonly<Record<string, string>>;

export interface World {
  readonly bucket: string;
  /** The upload in progress to the key "up", which has an object, too. */
  readonly upload: string;
  /** A bucket that CreateBucket may create. */
  readonly fresh: string;
}

/** Creates the objects k (5 bytes), a/b and up, and an upload to up with one part. */
export async function createWorld(buckets: Buckets): Promise<World> {
  const bucket = await buckets.bucket();
  for (const key of ["k", "a/b", "up"]) {
    await buckets.raw("PUT", `/${bucket}/${key}`, { body: "hello" });
  }
  const begun = await buckets.raw("POST", `/${bucket}/up?uploads`);
  const upload = /<UploadId>(\w+)</.exec(begun.body)?.[1] ?? "";
  await buckets.raw("PUT", `/${bucket}/up?uploadId=${upload}&partNumber=1`, { body: "part" });
  return { bucket, upload, fresh: buckets.freshName() };
}

const PART_ETAG = "f4c9385f1902f7334b00b9b4ecd164de";
export const PARTS =
  `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${PART_ETAG}</ETag></Part>` +
  "</CompleteMultipartUpload>";

const BODIES: Readonly<Record<string, string>> = {
  CompleteMultipartUpload: PARTS,
  DeleteObjects: "<Delete><Object><Key>k</Key></Object></Delete>",
  PutObject: "hello",
  UploadPart: "hello",
  PutBucketAccelerateConfiguration:
    "<AccelerateConfiguration><Status>Suspended</Status></AccelerateConfiguration>",
  PutBucketCors:
    "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod>" +
    "<AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>",
  PutBucketEncryption:
    "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>" +
    "<SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule>" +
    "</ServerSideEncryptionConfiguration>",
  PutBucketLifecycleConfiguration:
    "<LifecycleConfiguration><Rule><ID>r</ID><Filter><Prefix></Prefix></Filter>" +
    "<Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>" +
    "</LifecycleConfiguration>",
  PutBucketLogging: "<BucketLoggingStatus></BucketLoggingStatus>",
  PutBucketNotificationConfiguration: "<NotificationConfiguration></NotificationConfiguration>",
  PutBucketOwnershipControls:
    "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>" +
    "</OwnershipControls>",
  PutBucketPolicy:
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",' +
    '"Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/*"}]}',
  PutBucketRequestPayment:
    "<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>",
  PutBucketTagging: "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>",
  PutBucketVersioning:
    "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
  PutBucketWebsite:
    "<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument></WebsiteConfiguration>",
  PutObjectTagging: "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>",
  PutPublicAccessBlock: "<PublicAccessBlockConfiguration></PublicAccessBlockConfiguration>",
};

/** Values of the query parameters that select an action. */
const QUERY: Readonly<Record<string, string>> = { "list-type": "2", partNumber: "2" };

/** Sends the request of an action with some more headers, and query parameters after a "?". */
export async function request(
  buckets: Buckets,
  world: World,
  name: string,
  parameters: Parameters = {},
  body = BODIES[name] ?? "",
): Promise<RawS3Answer> {
  const action = S3_ACTIONS.find((each) => each.name === name);
  if (action === undefined) throw new Error(`S3 has no action ${name}`);
  const inWorld = (text: string) => text.replaceAll("BUCKET", world.bucket);
  const query = new URLSearchParams();
  for (const each of action.query ?? []) {
    query.set(each, each === "uploadId" ? world.upload : (QUERY[each] ?? ""));
  }
  const headers: Record<string, string> = {};
  if (action.header !== undefined) headers[action.header] = `/${world.bucket}/a/b`;
  for (const [parameter, value] of Object.entries(parameters)) {
    if (parameter.startsWith("?")) query.set(parameter.slice(1), inWorld(value));
    else headers[parameter] = inWorld(value);
  }
  const key = query.has("uploadId") ? "up" : "k";
  const bucket = name === "CreateBucket" ? world.fresh : world.bucket;
  const path = { service: "/", bucket: `/${bucket}`, object: `/${bucket}/${key}` }[action.at];
  const target = query.size === 0 ? path : `${path}?${query}`;
  return buckets.raw(action.method, target, { headers, body: inWorld(body) });
}

const SETTINGS = [
  ...["accelerate", "cors", "encryption", "lifecycle", "logging", "notification"],
  ...["ownershipControls", "policy", "publicAccessBlock", "requestPayment", "tagging"],
  ...["versioning", "website"],
];

/** Everything in a world that an action could change, as one text. */
export async function stateOf(buckets: Buckets, { bucket, upload, fresh }: World): Promise<string> {
  const reads: [method: string, path: string][] = [
    ["GET", `/${bucket}?versions`],
    ["GET", `/${bucket}?uploads`],
    ["GET", `/${bucket}/up?uploadId=${upload}`],
    ["GET", `/${bucket}/k?tagging`],
    ["HEAD", `/${bucket}/k`],
    ["HEAD", `/${bucket}/up`],
    ["HEAD", `/${fresh}`],
    ...SETTINGS.map((name): [string, string] => ["GET", `/${bucket}?${name}`]),
  ];
  const lines: string[] = [];
  for (const [method, path] of reads) {
    const { status, headers, body, code } = await buckets.raw(method, path);
    const stable = [...headers].filter(([name]) => !/^(x-amz-(id-2|request-id)|date)$/.test(name));
    lines.push(`${method} ${path} ${status} ${JSON.stringify(stable)} ${code ?? body}`);
  }
  return lines.join("\n");
}

/** What an accepted request made: the new object or bucket, or the response itself. */
export async function outcomeOf(
  buckets: Buckets,
  world: World,
  name: string,
  reply: RawS3Answer,
): Promise<RawS3Answer> {
  const checksums = { headers: { "x-amz-checksum-mode": "ENABLED" } };
  if (name === "CreateBucket") {
    return buckets.raw("GET", `/${world.fresh}?ownershipControls`);
  }
  if (name === "PutBucketNotificationConfiguration") {
    return buckets.raw("GET", `/${world.bucket}?notification`);
  }
  if (name === "PutObject" || name === "CopyObject") {
    return buckets.raw("HEAD", `/${world.bucket}/k`, checksums);
  }
  if (name !== "CreateMultipartUpload") return reply;
  const upload = /<UploadId>(\w+)</.exec(reply.body)?.[1] ?? "";
  const at = `/${world.bucket}/k?uploadId=${upload}`;
  const part = await buckets.raw("PUT", `${at}&partNumber=1`, { body: "part" });
  const [, kind, sum] =
    /x-amz-checksum-(\w+): (\S+)/.exec([...part.headers].map((h) => h.join(": ")).join("\n")) ?? [];
  const checksum = `<Checksum${kind?.toUpperCase()}>${sum}</Checksum${kind?.toUpperCase()}>`;
  await buckets.raw("POST", at, { body: PARTS.replace("</ETag>", `</ETag>${checksum}`) });
  return buckets.raw("HEAD", `/${world.bucket}/k`, checksums);
}
