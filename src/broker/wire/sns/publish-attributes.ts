// Publish attributes: validates the attributes of a published message, with SNS's messages, and
// computes their size.
//   A1. SNS accepts any number of them; only raw delivery to a queue has a limit.
//   A2. Records have no prototype: `__proto__` is a valid attribute name.

import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { MessageAttribute } from "../../model/operations.ts";
import type { RefusedAction } from "../protocol/call.ts";
import { blob, entries, structureShape, textShape, type ValueOf } from "../protocol/shape.ts";
import { isBinaryType } from "../sqs/md5-attributes.ts";
import { absent } from "./sns-request.ts";

const NAME_CHARS_MAX = 256;
const NAME_CHARACTER = /[A-Za-z0-9_.-]/;
const TYPE = /^(?:String|Number|Binary)(?:\..+)?$/s;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const attributeValue = structureShape({
  DataType: textShape,
  StringValue: textShape,
  BinaryValue: blob,
});

export const publishAttributes = entries("Name", attributeValue);

type AttributeInput = ValueOf<typeof attributeValue>;

export interface SizedPublishAttributes {
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly sizeBytes: number;
}

/** `path` is the location of the attributes in the request, as AWS's error messages name it. */
export function readPublishAttributes(
  input: Readonly<Record<string, AttributeInput>> | null | undefined,
  path: string,
): Result<SizedPublishAttributes, Fault> {
  const names = Object.keys(input ?? {});
  if (names.length === 0) return succeed({ attributes: null, sizeBytes: 0 });
  const attributes: Record<string, MessageAttribute> = Object.create(null); // A2
  let sizeBytes = 0;
  for (const name of names) {
    const value = input![name]!;
    const refused = checkName(name) ?? checkValue(name, value, path);
    if (refused !== null) return refused;
    const attribute = toAttribute(value);
    attributes[name] = attribute;
    sizeBytes += attributeBytes(name, attribute);
  }
  return succeed({ attributes, sizeBytes });
}

function checkName(name: string): RefusedAction | null {
  if (name.length > NAME_CHARS_MAX) {
    return invalid("Length of message attribute name must be less than 256 bytes.");
  }
  if (name.startsWith(".")) {
    return invalid("Invalid message attribute name starting with character '.' was found.");
  }
  if (name.endsWith(".")) {
    return invalid("Invalid message attribute name ending with character '.' was found.");
  }
  const wrong = [...name].find((character) => !NAME_CHARACTER.test(character));
  if (wrong !== undefined || name === "") {
    const code = (wrong ?? "\0").codePointAt(0)!.toString(16).toUpperCase();
    return invalid(
      `Invalid non-alphanumeric character '#x${code}' was found in the message attribute name. ` +
        "Can only include alphanumeric characters, hyphens, underscores, or dots.",
    );
  }
  if (name.includes("..")) {
    return invalid("Message attribute name can not have successive '.' character.");
  }
  return null;
}

function checkValue(name: string, input: AttributeInput, path: string): RefusedAction | null {
  const { DataType: type, StringValue: string, BinaryValue: binary } = input;
  if (type === undefined || type === null) return absent(`${path}.${name}.member.dataType`);
  if (!TYPE.test(type) || hasInvalidXmlCharacter(type)) {
    return invalid(
      `The message attribute '${name}' has an invalid message attribute type, the set of ` +
        "supported type prefixes is Binary, Number, and String.",
    );
  }
  const field = isBinaryType(type) ? "Binary" : "String";
  const [own, other] = field === "Binary" ? [binary, string] : [string, binary];
  if (!own && other) {
    return invalid(
      `The message attribute '${name}' with type '${type}' must use field '${field}'.`,
    );
  }
  if (!own) {
    return invalid(
      `The message attribute '${name}' must contain non-empty message attribute value for ` +
        `message attribute type '${type}'.`,
    );
  }
  if (field === "String" && hasInvalidXmlCharacter(own)) {
    return invalid(`The message attribute '${name}' contains characters outside the allowed set.`);
  }
  if (type.startsWith("Number") && !NUMBER.test(own)) {
    return invalid(`Could not cast message attribute '${name}' value to number.`);
  }
  return null;
}

function toAttribute({
  DataType: type,
  StringValue,
  BinaryValue,
}: AttributeInput): MessageAttribute {
  if (!isBinaryType(type!)) return { type: type!, value: StringValue! };
  return { type: type!, value: Buffer.from(BinaryValue!, "base64").toString("base64") };
}

function attributeBytes(name: string, { type, value }: MessageAttribute): number {
  const valueBytes = Buffer.byteLength(value, isBinaryType(type) ? "base64" : "utf8");
  return Buffer.byteLength(name) + Buffer.byteLength(type) + valueBytes;
}

function invalid(message: string): RefusedAction {
  return refuse("ParameterValueInvalid", message);
}
