// Own message: the identity of a message whose body is not Tidegate's, but the user's.
//   U1. Identity is (pipeline, origin of the key, key). Two pipelines never share an identity,
//       although "42" may be a key in both. The queue is not part of it: a message that moves to
//       another queue of its pipeline stays the same.
//   U2. A key is text that is not blank, of at most DEDUPE_KEY_BYTES_MAX bytes, or a whole number,
//       which counts as its decimal digits. Anything else is rejected and never converted: the
//       text of every object is "[object Object]", and all messages would share it.
//   U3. The key alone decides. A message with the same key and another body is a duplicate.

import { keyDigest } from "../encoding/key-encoding.ts";
import { utf8ByteLength } from "../encoding/text.ts";
import { DEDUPE_KEY_BYTES_MAX } from "../limits.ts";

const KEY_VERSION = 1;

/** Where a key comes from: the body, or an id that the queue or its sender gave the message. */
export const KEY_ORIGINS = ["body", "MessageDeduplicationId", "MessageId"] as const;
export type KeyOrigin = (typeof KEY_ORIGINS)[number];

export type CheckedKey =
  | { readonly kind: "valid"; readonly key: string }
  /** `actual` is what the value is: "undefined", "a text of 9 bytes". */
  | { readonly kind: "invalid"; readonly actual: string };

/** The identity of a message in one pipeline, the same in all its generations (U1). */
export function ownIdentity(pipeline: string, origin: KeyOrigin, key: string): string {
  return keyDigest(KEY_VERSION, ["own-message", pipeline, origin, key]);
}

/** The identities that a key may have, depending on where it comes from. */
export function ownIdentities(pipeline: string, key: string): string[] {
  if (!key.isWellFormed()) return [];
  return KEY_ORIGINS.map((origin) => ownIdentity(pipeline, origin, key));
}

/** Checks a value that is meant as a key (U2). */
export function checkOwnKey(value: unknown): CheckedKey {
  if (typeof value === "number") {
    if (Number.isSafeInteger(value)) return { kind: "valid", key: String(value) };
    return invalid(`${value}, which is not a whole number within ±(2^53 - 1)`);
  }
  if (typeof value !== "string") return invalid(describeKind(value));
  if (value.trim() === "") return invalid("an empty text");
  if (!value.isWellFormed()) return invalid("a text with a lone surrogate");
  const length = utf8ByteLength(value);
  if (length <= DEDUPE_KEY_BYTES_MAX) return { kind: "valid", key: value };
  return invalid(`a text of ${length} bytes; at most ${DEDUPE_KEY_BYTES_MAX} are allowed`);
}

function invalid(actual: string): CheckedKey {
  return { kind: "invalid", actual };
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value instanceof Promise) return "a promise";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
