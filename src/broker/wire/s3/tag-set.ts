// Tag sets: XML in a body, or a query string in a header.

import {
  S3_OBJECT_TAGS_MAX,
  SQS_TAG_KEY_CHARACTERS_MAX,
  SQS_TAG_VALUE_CHARACTERS_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { malformedXml, readDocument } from "./request-body.ts";
import type { S3Call } from "./s3-call.ts";
import { invalidArgument, refusal } from "./s3-errors.ts";
import { childrenOf, childText, parseXml, type XmlNode } from "./xml-input.ts";
import { element, textElement } from "./xml-output.ts";

const BUCKET_TAGS_MAX = 50;
const ALLOWED = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

export function parseTagHeader(header: string): Result<Record<string, string>, S3Fault> {
  if (header === "") return succeed({});
  const pairs = [...new URLSearchParams(header)];
  const keys = new Set(pairs.map(([key]) => key));
  if (keys.size < pairs.length || keys.has("")) {
    const message =
      "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters " +
      "without tag name duplicates.";
    return invalidArgument("x-amz-tagging", header, message);
  }
  return checkTags(pairs, S3_OBJECT_TAGS_MAX, "Object tags cannot be greater than 10");
}

/** The `<Tagging>` document of a request. */
export async function readTagging(
  call: S3Call,
  resource: "bucket" | "object",
): Promise<Result<Record<string, string>, S3Fault>> {
  const body = await readDocument(call);
  if (!body.ok) return body;
  const root = parseXml(body.value, "Tagging");
  const set = root === null ? undefined : childrenOf(root, "TagSet")[0];
  return set === undefined ? malformedXml() : readTagSet(set, resource);
}

/** The `<Tag>` elements of a set. */
export function readTagSet(
  set: XmlNode,
  resource: "bucket" | "object",
): Result<Record<string, string>, S3Fault> {
  const pairs: [string, string][] = [];
  for (const tag of childrenOf(set, "Tag")) {
    const key = childText(tag, "Key");
    const value = childText(tag, "Value");
    if (key === null || value === null) return malformedXml();
    pairs.push([key, value]);
  }
  if (new Set(pairs.map(([key]) => key)).size < pairs.length) {
    return refusal("InvalidTag", "Cannot provide multiple Tags with the same key");
  }
  return resource === "object"
    ? checkTags(pairs, S3_OBJECT_TAGS_MAX, "Object tags cannot be greater than 10")
    : checkTags(pairs, BUCKET_TAGS_MAX, "Bucket tag count cannot be greater than 50");
}

function checkTags(
  pairs: readonly (readonly [string, string])[],
  countMax: number,
  tooMany: string,
): Result<Record<string, string>, S3Fault> {
  if (pairs.length > countMax) return refusal("InvalidTag", tooMany);
  for (const [key, value] of pairs) {
    if (key === "" || key.length > SQS_TAG_KEY_CHARACTERS_MAX || !ALLOWED.test(key)) {
      const fields = { TagKey: key };
      return refusal("InvalidTag", "The TagKey you have provided is invalid", fields);
    }
    if (value.length > SQS_TAG_VALUE_CHARACTERS_MAX || !ALLOWED.test(value)) {
      const fields = { TagKey: key, TagValue: value };
      return refusal("InvalidTag", "The TagValue you have provided is invalid", fields);
    }
    if (key.toLowerCase().startsWith("aws:")) {
      return refusal("InvalidTag", "System tags cannot be added/updated by requester");
    }
  }
  return succeed(Object.fromEntries(pairs));
}

export function writeTagSet(tags: Readonly<Record<string, string>>): string {
  const written = Object.entries(tags).map(([key, value]) =>
    element("Tag", textElement("Key", key), textElement("Value", value)),
  );
  return element("TagSet", ...written);
}
