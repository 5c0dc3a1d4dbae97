// The configurations of buckets: the one table of their documents, checks and defaults.
//   F1. CORS is enforced. The others are stored and returned, so that tools which manage whole
//       buckets find what they wrote; docs/reference/aws-differences.md names what has no effect.

import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { malformedXml } from "../request-body.ts";
import type { S3Action } from "../s3-call.ts";
import { childrenOf, childText, type XmlNode } from "../xml-input.ts";
import { element, optionalText, textElement } from "../xml-output.ts";
import { type BucketConfig, configActions, writeChildren } from "./bucket-config.ts";
import { POLICY_ACTIONS } from "./bucket-policy.ts";
import { readCors } from "./cors.ts";
import { readLifecycle } from "./lifecycle.ts";
import { OWNERSHIPS, writeOwnership } from "./ownership.ts";

const ALGORITHMS = new Set(["AES256", "aws:kms", "aws:kms:dsse"]);
const BLOCKS = [
  "BlockPublicAcls",
  "IgnorePublicAcls",
  "BlockPublicPolicy",
  "RestrictPublicBuckets",
];

function encryptionRule(algorithm: string, key: string | null, bucketKey: boolean): string {
  return element(
    "Rule",
    element(
      "ApplyServerSideEncryptionByDefault",
      textElement("SSEAlgorithm", algorithm),
      optionalText("KMSMasterKeyID", key),
    ),
    textElement("BucketKeyEnabled", bucketKey),
  );
}

function readEncryption(root: XmlNode): Result<string, S3Fault> {
  const [rule, ...more] = childrenOf(root, "Rule");
  const by = rule && childrenOf(rule, "ApplyServerSideEncryptionByDefault")[0];
  if (rule === undefined || by === undefined || more.length > 0) return malformedXml();
  const algorithm = childText(by, "SSEAlgorithm") ?? "";
  const key = childText(by, "KMSMasterKeyID");
  if (!ALGORITHMS.has(algorithm) || (key !== null && algorithm === "AES256")) return malformedXml();
  return succeed(encryptionRule(algorithm, key, isTrue(childText(rule, "BucketKeyEnabled"))));
}

function readPublicAccessBlock(root: XmlNode): Result<string, S3Fault> {
  const values = BLOCKS.map((name) => childText(root, name));
  if (!values.every((value) => value === null || /^(true|false)$/i.test(value))) {
    return malformedXml();
  }
  return succeed(BLOCKS.map((name, at) => textElement(name, isTrue(values[at]))).join(""));
}

const isTrue = (value: string | null | undefined): boolean => value?.toLowerCase() === "true";

/** Reads a document of which one text must be one of the values. */
function choice(path: readonly string[], values: ReadonlySet<string>) {
  return (root: XmlNode): Result<string, S3Fault> => {
    const node = path.reduce<XmlNode | undefined>(
      (at, name) => (at === undefined ? undefined : childrenOf(at, name)[0]),
      root,
    );
    return node !== undefined && values.has(node.text)
      ? succeed(writeChildren(root))
      : malformedXml();
  };
}

const asWritten = (root: XmlNode): Result<string, S3Fault> => succeed(writeChildren(root));

const ENCRYPTION = encryptionRule("AES256", null, false);
const NONE = { code: "InternalError", message: "the configuration has a default" } as const;

const CONFIGS: readonly BucketConfig[] = [
  {
    name: "accelerate",
    noun: "BucketAccelerateConfiguration",
    deletable: false,
    root: "AccelerateConfiguration",
    read: choice(["Status"], new Set(["Enabled", "Suspended"])),
    initial: "",
    deleted: "",
    missing: NONE,
  },
  {
    name: "cors",
    noun: "BucketCors",
    deletable: true,
    root: "CORSConfiguration",
    read: readCors,
    initial: null,
    deleted: null,
    missing: { code: "NoSuchCORSConfiguration", message: "The CORS configuration does not exist" },
  },
  {
    name: "encryption",
    noun: "BucketEncryption",
    deletable: true,
    root: "ServerSideEncryptionConfiguration",
    read: readEncryption,
    initial: ENCRYPTION,
    deleted: ENCRYPTION,
    missing: NONE,
  },
  {
    name: "lifecycle",
    noun: "BucketLifecycleConfiguration",
    deletable: true,
    root: "LifecycleConfiguration",
    read: readLifecycle,
    initial: null,
    deleted: null,
    missing: {
      code: "NoSuchLifecycleConfiguration",
      message: "The lifecycle configuration does not exist",
    },
    headers: ["x-amz-transition-default-minimum-object-size", "all_storage_classes_128K"],
  },
  {
    name: "logging",
    noun: "BucketLogging",
    deletable: false,
    root: "BucketLoggingStatus",
    read: asWritten,
    initial: "",
    deleted: "",
    missing: NONE,
  },
  {
    name: "ownershipControls",
    noun: "BucketOwnershipControls",
    deletable: true,
    root: "OwnershipControls",
    read: choice(["Rule", "ObjectOwnership"], OWNERSHIPS),
    initial: writeOwnership("BucketOwnerEnforced"),
    deleted: null,
    missing: {
      code: "OwnershipControlsNotFoundError",
      message: "The bucket ownership controls were not found",
    },
  },
  {
    name: "publicAccessBlock",
    noun: "PublicAccessBlock",
    deletable: true,
    root: "PublicAccessBlockConfiguration",
    read: readPublicAccessBlock,
    initial: BLOCKS.map((name) => textElement(name, true)).join(""),
    deleted: null,
    missing: {
      code: "NoSuchPublicAccessBlockConfiguration",
      message: "The public access block configuration was not found",
    },
  },
  {
    name: "requestPayment",
    noun: "BucketRequestPayment",
    deletable: false,
    root: "RequestPaymentConfiguration",
    read: choice(["Payer"], new Set(["BucketOwner", "Requester"])),
    initial: textElement("Payer", "BucketOwner"),
    deleted: textElement("Payer", "BucketOwner"),
    missing: NONE,
  },
  {
    name: "website",
    noun: "BucketWebsite",
    deletable: true,
    root: "WebsiteConfiguration",
    read: asWritten,
    initial: null,
    deleted: null,
    missing: {
      code: "NoSuchWebsiteConfiguration",
      message: "The specified bucket does not have a website configuration",
    },
  },
];

export const CONFIG_ACTIONS: readonly S3Action[] = [
  ...CONFIGS.flatMap(configActions),
  ...POLICY_ACTIONS,
];
