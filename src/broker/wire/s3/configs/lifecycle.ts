// Lifecycle: the rules of a bucket are checked, stored and returned. Nothing expires by them.

import { sha256Hex } from "../../../../core/encoding/hash.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault, S3Refusal } from "../../../model/s3/s3-fault.ts";
import { malformedXml } from "../request-body.ts";
import { invalidArgument, refusal } from "../s3-errors.ts";
import { childrenOf, childText, type XmlNode } from "../xml-input.ts";
import { element, textElement } from "../xml-output.ts";
import { writeChildren } from "./bucket-config.ts";

const RULES_MAX = 1_000;
const ID_CHARACTERS_MAX = 255;
const GENERATED_ID_DIGITS = 48;
const ACTIONS = [
  "Expiration",
  "NoncurrentVersionExpiration",
  "Transition",
  "NoncurrentVersionTransition",
  "AbortIncompleteMultipartUpload",
];

/** The checked content of a `<LifecycleConfiguration>`; a rule without an id gets one. */
export function readLifecycle(root: XmlNode): Result<string, S3Fault> {
  const rules = childrenOf(root, "Rule");
  if (rules.length === 0 || rules.length > RULES_MAX) return malformedXml();
  const ids = new Set<string>();
  let content = "";
  for (const [index, rule] of rules.entries()) {
    const fault = checkLifecycleRule(rule);
    if (fault !== null) return fault;
    const written = writeChildren(rule);
    const given = childText(rule, "ID");
    const id = given || sha256Hex(`${index}/${written}`).slice(0, GENERATED_ID_DIGITS);
    if (ids.has(id)) {
      const message = "Rule ID must be unique. Found same ID for more than one rule";
      return invalidArgument("ID", id, message);
    }
    ids.add(id);
    content += given ? element("Rule", written) : element("Rule", textElement("ID", id), written);
  }
  return succeed(content);
}

function checkLifecycleRule(rule: XmlNode): S3Refusal | null {
  const id = childText(rule, "ID") ?? "";
  if (id.length > ID_CHARACTERS_MAX) {
    return invalidArgument("ID", id, "ID length should not exceed allowed limit of 255");
  }
  const status = childText(rule, "Status");
  if (status !== "Enabled" && status !== "Disabled") return malformedXml();
  const selects = childrenOf(rule, "Filter").length + childrenOf(rule, "Prefix").length;
  if (selects !== 1) return malformedXml();
  const actions = ACTIONS.flatMap((name) => childrenOf(rule, name));
  if (actions.length === 0) {
    const message = "At least one action needs to be specified in a rule";
    return refusal("InvalidRequest", message);
  }
  for (const action of actions) {
    for (const name of ["Days", "NoncurrentDays", "DaysAfterInitiation"]) {
      const days = childText(action, name);
      if (days === null) continue;
      const floor = childText(action, "StorageClass") === null ? 1 : 0;
      if (!/^\d+$/.test(days) || Number(days) < floor) {
        const message = `'${name}' for action must be a positive integer`;
        return invalidArgument(name, days, message);
      }
    }
  }
  return null;
}
