// Message attributes: validates the attributes of a sent message, with AWS's messages, and computes
// their size.
//   A1. Names and types are stored as sent; a Binary value is stored as canonical base64.
//   A2. System attributes do not count towards the size; only AWSTraceHeader can be set.
//   A3. Records have no prototype: `__proto__` is a valid attribute name.

import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import {
  SQS_ATTRIBUTE_NAME_CHARACTERS_MAX,
  SQS_ATTRIBUTE_TYPE_CHARACTERS_MAX,
  SQS_MESSAGE_ATTRIBUTES_MAX,
} from "../../../core/limits.ts";
import { type Result, type Success, succeed } from "../../../core/result.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { MessageAttribute } from "../../model/operations.ts";
import type { RefusedAction } from "../protocol/call.ts";
import { missing } from "../protocol/parameters.ts";
import type { MessageAttributeInput } from "../protocol/shape.ts";
import { isBinaryType } from "./md5-attributes.ts";

/** AWS's documents do not allow letters with accents, but AWS accepts them. */
const NAME = /^[A-Za-z0-9_.\-\u00C0-\u017F]+$/;
const RESERVED_NAME = /^(?:aws\.|amazon\.|\.)/i;
const TYPE = /^(?:String|Number|Binary)(?:\..+)?$/s;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export interface SizedAttributes {
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly sizeBytes: number;
}

// Shared, so that a message without attributes costs no allocation.
const NO_ATTRIBUTES: Success<SizedAttributes> = succeed({ attributes: null, sizeBytes: 0 });
const NO_TRACE_HEADER: Success<null> = succeed(null);

/** Returns the attributes as the broker stores them, with their size, or why they are refused. */
export function readAttributes(
  input: Readonly<Record<string, MessageAttributeInput>> | null | undefined,
): Result<SizedAttributes, Fault> {
  if (input === undefined || input === null) return NO_ATTRIBUTES;
  const names = Object.keys(input);
  if (names.length === 0) return NO_ATTRIBUTES;
  if (names.length > SQS_MESSAGE_ATTRIBUTES_MAX) {
    return invalid(
      `Number of message attributes [${names.length}] exceeds the allowed maximum ` +
        `[${SQS_MESSAGE_ATTRIBUTES_MAX}].`,
    );
  }
  const attributes: Record<string, MessageAttribute> = Object.create(null); // A3
  let sizeBytes = 0;
  for (const name of names) {
    const refused = checkName(name) ?? checkValue(name, input[name]!);
    if (refused !== null) return refused;
    const attribute = toAttribute(input[name]!);
    attributes[name] = attribute;
    sizeBytes += attributeBytes(name, attribute);
  }
  return succeed({ attributes, sizeBytes });
}

/** The trace header in the system attributes of a message, or null (A2). */
export function readTraceHeader(
  input: Readonly<Record<string, MessageAttributeInput>> | null | undefined,
): Result<string | null, Fault> {
  if (input === undefined || input === null) return NO_TRACE_HEADER;
  let traceHeader: string | null = null;
  for (const name of Object.keys(input)) {
    if (name !== "AWSTraceHeader") {
      return invalid(`Message system attribute name '${name.slice(0, 256)}' is invalid.`);
    }
    const { DataType, StringValue } = input[name]!;
    if (DataType !== "String" || !StringValue) {
      return invalid(
        "Message system attribute 'AWSTraceHeader' must contain a non-empty value of type " +
          "'String'.",
      );
    }
    if (hasInvalidXmlCharacter(StringValue)) {
      return invalid("Message system attribute 'AWSTraceHeader' contains invalid characters.");
    }
    traceHeader = StringValue;
  }
  return succeed(traceHeader);
}

function checkName(name: string): RefusedAction | null {
  if (name.length === 0) return missing("MessageAttributeName");
  if (name.length > SQS_ATTRIBUTE_NAME_CHARACTERS_MAX) {
    return invalid("Message (user) attribute names must be shorter than 256 Bytes");
  }
  if (!NAME.test(name)) {
    return invalid(
      "Message (user) attributes name can only contain upper and lower score characters, " +
        "digits, periods, hyphens and underscores. ",
    );
  }
  if (RESERVED_NAME.test(name) || name.endsWith(".") || name.includes("..")) {
    return invalid(
      "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings " +
        "are reserved for internal use. Additionally, they cannot start or end with '.', nor " +
        "have periods in succession.",
    );
  }
  return null;
}

function checkValue(name: string, input: MessageAttributeInput): RefusedAction | null {
  const { DataType: type, StringValue: string, BinaryValue: binary } = input;
  if (input.StringListValues?.length || input.BinaryListValues?.length) {
    return refuse(
      "UnsupportedOperation",
      "Message attribute list values in SendMessage operation are not supported.",
    );
  }
  if (!type) {
    return invalid(
      `The message (user) attribute '${name}' must contain a non-empty message attribute type.`,
    );
  }
  if (type.length >= SQS_ATTRIBUTE_TYPE_CHARACTERS_MAX) {
    return invalid("Message (user) attribute types must be shorter than 256 Bytes");
  }
  if (!TYPE.test(type) || hasInvalidXmlCharacter(type)) {
    return invalid(
      `The type of message (user) attribute '${name}' is invalid. You must use only the ` +
        "following supported type prefixes: Binary, Number, String.",
    );
  }
  return isBinaryType(type) ? checkBytes(name, string, binary) : checkText(name, type, input);
}

type Given = string | null | undefined;

function checkBytes(name: string, string: Given, binary: Given): RefusedAction | null {
  if (string) {
    return invalid(`The message attribute '${name}' with type 'Binary' must use field 'Binary'.`);
  }
  return binary ? null : empty(name, "Binary");
}

function checkText(name: string, type: string, input: MessageAttributeInput): RefusedAction | null {
  const base = type.startsWith("Number") ? "Number" : "String";
  if (input.BinaryValue) {
    return invalid(`The message attribute '${name}' with type '${base}' must use field 'String'.`);
  }
  const value = input.StringValue;
  if (!value) return empty(name, base);
  if (hasInvalidXmlCharacter(value)) {
    return invalid(
      `Message (user) attribute '${name}' contains characters outside the allowed set.`,
    );
  }
  if (base === "Number" && !NUMBER.test(value)) {
    return invalid(`Can't cast the value of message (user) attribute '${name}' to a number.`);
  }
  return null;
}

function toAttribute(input: MessageAttributeInput): MessageAttribute {
  const type = input.DataType!;
  if (!isBinaryType(type)) return { type, value: input.StringValue! };
  return { type, value: Buffer.from(input.BinaryValue!, "base64").toString("base64") }; // A1
}

function attributeBytes(name: string, { type, value }: MessageAttribute): number {
  const valueBytes = Buffer.byteLength(value, isBinaryType(type) ? "base64" : "utf8");
  return Buffer.byteLength(name) + Buffer.byteLength(type) + valueBytes;
}

function empty(name: string, type: string): RefusedAction {
  return invalid(
    `Message (user) attribute '${name}' must contain a non-empty value of type '${type}'.`,
  );
}

function invalid(message: string): RefusedAction {
  return refuse("InvalidParameterValue", message);
}
