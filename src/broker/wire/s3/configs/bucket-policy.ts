// Bucket policy: one JSON document, stored and returned as the client wrote it.
//   P1. The policy is checked for its form and its resources. It decides about requests if there
//       are keys, by which callers are known (auth/s3-access.ts).
//   P2. A caller who would lose the right to change the policy must confirm that.

import { utf8ByteLength } from "../../../../core/encoding/text.ts";
import type { HttpReply } from "../../../../ports/http/http.ts";
import type { S3Refusal } from "../../../model/s3/s3-fault.ts";
import { refuseLockout } from "../../auth/s3-access.ts";
import { readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { textElement, xmlReply } from "../xml-output.ts";
import { storeConfig } from "./bucket-config.ts";

const POLICY_BYTES_MAX = 20 * 1_024;
const at = "bucket" as const;

type Fields = Readonly<Record<string, unknown>>;

export const POLICY_ACTIONS: readonly S3Action[] = [
  { name: "GetBucketPolicy", method: "GET", at, query: ["policy"], run: get },
  { name: "GetBucketPolicyStatus", method: "GET", at, query: ["policyStatus"], run: getStatus },
  { name: "PutBucketPolicy", method: "PUT", at, query: ["policy"], run: put },
  {
    name: "DeleteBucketPolicy",
    method: "DELETE",
    at,
    query: ["policy"],
    run: (call) => storeConfig(call, "policy", null, 204),
  },
];

async function put(call: S3Call): Promise<HttpReply> {
  const body = await readDocument(call);
  if (!body.ok) return denied(call, body.fault);
  const fault = checkPolicy(body.value, call.bucket) ?? refuseLockout(call, body.value); // P1, P2
  if (fault !== null) return denied(call, fault.fault);
  return storeConfig(call, "policy", body.value, 204);
}

async function get(call: S3Call): Promise<HttpReply> {
  return withPolicy(call, (policy) => ({
    status: 200,
    headers: ["Content-Type", "application/json"],
    body: policy,
  }));
}

async function getStatus(call: S3Call): Promise<HttpReply> {
  return withPolicy(call, (policy) => {
    const open = statementsOf(JSON.parse(policy)).some(
      (each) => each.Effect === "Allow" && isPublic(each.Principal) && !("Condition" in each),
    );
    return xmlReply("PolicyStatus", textElement("IsPublic", open));
  });
}

async function withPolicy(call: S3Call, reply: (policy: string) => HttpReply): Promise<HttpReply> {
  const lookup = await ask(call, "findBucket", { bucket: call.bucket });
  if (!lookup.ok) return denied(call, lookup.fault);
  const policy = lookup.value.bucket.configs?.policy ?? null;
  if (policy !== null) return reply(policy);
  const message = "The bucket policy does not exist";
  return denied(call, refusal("NoSuchBucketPolicy", message, { BucketName: call.bucket }).fault);
}

function isPublic(principal: unknown): boolean {
  if (principal === "*") return true;
  return typeof principal === "object" && principal !== null && "AWS" in principal
    ? [principal.AWS].flat().includes("*")
    : false;
}

function checkPolicy(text: string, bucket: string): S3Refusal | null {
  const malformed = (message: string) => refusal("MalformedPolicy", message);
  if (utf8ByteLength(text) > POLICY_BYTES_MAX) {
    return malformed("Normalized policy document exceeds the maximum allowed size of 20480 bytes.");
  }
  const policy = parseObject(text);
  if (policy === null) {
    return malformed("Policies must be valid JSON and the first byte must be '{'");
  }
  const statements = statementsOf(policy);
  if (statements.length === 0) return malformed("Missing required field Statement");
  for (const statement of statements) {
    for (const field of ["Effect", "Principal", "Action", "Resource"]) {
      if (statement[field] === undefined && statement[`Not${field}`] === undefined) {
        return malformed(`Missing required field ${field}`);
      }
    }
    if (statement.Effect !== "Allow" && statement.Effect !== "Deny") {
      return malformed(`Invalid effect: ${String(statement.Effect)}`);
    }
    const resources = [statement.Resource ?? statement.NotResource].flat().map(String);
    if (!resources.every((each) => isWithin(each, bucket))) {
      return malformed("Policy has invalid resource");
    }
  }
  return null;
}

function isWithin(resource: string, bucket: string): boolean {
  const arn = `arn:aws:s3:::${bucket}`;
  return resource === arn || resource.startsWith(`${arn}/`) || resource === "*";
}

function statementsOf(policy: Fields): readonly Fields[] {
  const listed = [policy.Statement].flat();
  return listed.filter((each): each is Fields => typeof each === "object" && each !== null);
}

function parseObject(text: string): Fields | null {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return null;
  }
}
