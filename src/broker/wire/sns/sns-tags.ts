// SNS tags: a list of keys and values on the wire, a record in the broker.

import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import { members, structureShape, textShape, type ValueOf } from "../protocol/shape.ts";
import { invalidSnsParameter } from "./sns-request.ts";

const TAGS_MAX = 50;
const KEY_CHARS_MAX = 128;
const VALUE_CHARS_MAX = 256;

export const tagList = members(structureShape({ Key: textShape, Value: textShape }));

/** Returns the tags as a record, or why they are refused. */
export function readTags(
  tags: ValueOf<typeof tagList> | null | undefined,
): Result<Record<string, string>, Fault> {
  const read: Record<string, string> = Object.create(null);
  for (const { Key: key, Value: value } of tags ?? []) {
    if (!key || key.length > KEY_CHARS_MAX || hasInvalidXmlCharacter(key)) {
      return invalidSnsParameter("Tag keys have 1 to 128 characters.");
    }
    if ((value ?? "").length > VALUE_CHARS_MAX || hasInvalidXmlCharacter(value ?? "")) {
      return invalidSnsParameter("Tag values have up to 256 characters.");
    }
    if (key.toLowerCase().startsWith("aws:")) {
      return invalidSnsParameter("Tag keys must not begin with aws:");
    }
    if (Object.hasOwn(read, key)) return invalidSnsParameter("Duplicated keys are not allowed.");
    read[key] = value ?? "";
  }
  if (Object.keys(read).length > TAGS_MAX) {
    return refuse(
      "TagLimitExceeded",
      "Could not complete request: tag quota of per resource exceeded",
    );
  }
  return succeed(read);
}
