// Bucket configurations: settings of a bucket that are one XML document each, and the three actions
// that store, return and delete it.
//   C1. A document is checked and normalised before it is stored, so that a GET returns what S3
//       would return for it.
//   C2. Deleting a configuration that does not exist succeeds, as in S3.

import type { Result } from "../../../../core/result.ts";
import type { HttpReply } from "../../../../ports/http/http.ts";
import type { BucketConfigName } from "../../../model/s3/bucket.ts";
import type { S3Code, S3Fault } from "../../../model/s3/s3-fault.ts";
import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { parseXml, type XmlNode } from "../xml-input.ts";
import { emptyReply, escapeS3Xml, xmlReply } from "../xml-output.ts";

export interface BucketConfig {
  /** Also the query parameter of its actions. */
  readonly name: BucketConfigName;
  /** The actions, without the verb: "BucketCors" of GetBucketCors. */
  readonly noun: string;
  readonly deletable: boolean;
  readonly root: string;
  /** The content of the root as it is stored, or the refusal (C1). */
  read(root: XmlNode): Result<string, S3Fault>;
  /** The content of a bucket on which it was never set; null: there is none. */
  readonly initial: string | null;
  /** The content after a delete; null: there is none. */
  readonly deleted: string | null;
  readonly missing: { readonly code: S3Code; readonly message: string };
  /** Headers of the response to a GET. */
  readonly headers?: readonly string[];
}

export function configActions(config: BucketConfig): readonly S3Action[] {
  const { name, noun, deletable } = config;
  const at = "bucket" as const;
  const query = [name];
  const actions: S3Action[] = [
    { name: `Get${noun}`, method: "GET", at, query, run: (call) => get(call, config) },
    { name: `Put${noun}`, method: "PUT", at, query, run: (call) => put(call, config) },
  ];
  if (deletable) {
    const run = (call: S3Call) => storeConfig(call, name, null, 204); // C2
    actions.push({ name: deleteName(noun), method: "DELETE", at, query, run });
  }
  return actions;
}

/** DeleteBucketLifecycle deletes what PutBucketLifecycleConfiguration stored. */
function deleteName(noun: string): string {
  return noun === "BucketLifecycleConfiguration" ? "DeleteBucketLifecycle" : `Delete${noun}`;
}

async function get(call: S3Call, config: BucketConfig): Promise<HttpReply> {
  const lookup = await ask(call, "findBucket", { bucket: call.bucket });
  if (!lookup.ok) return denied(call, lookup.fault);
  const stored = lookup.value.bucket.configs?.[config.name];
  const content = stored === undefined ? config.initial : (stored ?? config.deleted);
  if (content !== null) return xmlReply(config.root, content, config.headers);
  const { code, message } = config.missing;
  return denied(call, refusal(code, message, { BucketName: call.bucket }).fault);
}

async function put(call: S3Call, config: BucketConfig): Promise<HttpReply> {
  const body = await readDocument(call);
  if (!body.ok) return denied(call, body.fault);
  const root = parseXml(body.value, config.root);
  const content = root === null ? malformedXml() : config.read(root);
  if (!content.ok) return denied(call, content.fault);
  return storeConfig(call, config.name, content.value, 200, config.headers);
}

export async function storeConfig(
  call: S3Call,
  name: BucketConfigName,
  document: string | null,
  status: number,
  headers?: readonly string[],
): Promise<HttpReply> {
  const { bucket } = call;
  const set = await ask(call, "setBucketConfig", { bucket, name, document });
  return set.ok ? emptyReply(status, headers) : denied(call, set.fault);
}

/** Writes the children of a parsed element again; children of one name stay together. */
export function writeChildren(node: XmlNode): string {
  return [...node.children].map(([name, nodes]) => nodes.map(write(name)).join("")).join("");
}

const write = (name: string) => (node: XmlNode) => {
  const content = node.children.size === 0 ? escapeS3Xml(node.text) : writeChildren(node);
  return `<${name}>${content}</${name}>`;
};
