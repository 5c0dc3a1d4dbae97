// MD5: the checksums that SQS and its SDKs compare. They do not serve security.
//   M1. Attributes are hashed in the order of their names: length and name, length and data type,
//       a byte for the kind of value, length and value. Lengths are 32 bits, big-endian.

import { md5HexOfParts } from "../../../core/encoding/hash.ts";
import type { MessageAttribute } from "../../model/operations.ts";

const KIND_TEXT = 1;
const KIND_BINARY = 2;

/** MD5OfMessageAttributes and MD5OfMessageSystemAttributes (M1). */
export function md5OfAttributes(attributes: Readonly<Record<string, MessageAttribute>>): string {
  const parts: Uint8Array[] = [];
  for (const name of Object.keys(attributes).sort()) {
    const { type, value } = attributes[name]!;
    const binary = isBinaryType(type);
    pushSized(parts, Buffer.from(name, "utf8"));
    pushSized(parts, Buffer.from(type, "utf8"));
    parts.push(Uint8Array.of(binary ? KIND_BINARY : KIND_TEXT));
    pushSized(parts, Buffer.from(value, binary ? "base64" : "utf8"));
  }
  return md5HexOfParts(parts);
}

/** Whether values of a data type, with or without a custom suffix, are bytes. */
export function isBinaryType(type: string): boolean {
  return type === "Binary" || type.startsWith("Binary.");
}

function pushSized(parts: Uint8Array[], content: Buffer): void {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(content.length);
  parts.push(length, content);
}
