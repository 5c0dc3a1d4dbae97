// Message size as SQS and SNS count it: the body, and name, type and value of each attribute.

import { utf8ByteLength } from "./text.ts";

const STRING_TYPE_BYTES = "String".length;

/** Bytes of a message whose attributes all have the type String. */
export function messageBytes(body: string, attributes: Readonly<Record<string, string>>): number {
  return Object.entries(attributes).reduce(
    (total, [name, value]) =>
      total + utf8ByteLength(name) + STRING_TYPE_BYTES + utf8ByteLength(value),
    utf8ByteLength(body),
  );
}
