// Canonical request: the one text of a request that version 4 signs.
//   C1. Two requests that the broker would treat differently have different texts. So paths and
//       queries are decoded as the broker decodes them, and encoded again in one way.
//   C2. S3 encodes a path once, all other services twice.
//   C3. Header values are bytes, read as latin1; so is the text. A byte of UTF-8 is never a space.
//   C4. The request names its signed headers, so they are looked up among its own headers only.

import { sha256Hex } from "../../../core/encoding/hash.ts";
import type { HttpHead } from "../../../ports/http/http.ts";

export interface SignedParts {
  readonly head: HttpHead;
  readonly signedHeaders: readonly string[];
  /** The digest of the body, or the word that stands for it. */
  readonly payload: string;
  readonly isS3: boolean;
  /** Whether the signature is a part of the query, which it then does not cover. */
  readonly inQuery: boolean;
}

/** The digest of the canonical request, in hex. */
export function canonicalDigest(parts: SignedParts): string {
  return sha256Hex(Buffer.from(canonicalRequest(parts), "latin1")); // C3
}

function canonicalRequest({ head, signedHeaders, payload, isS3, inQuery }: SignedParts): string {
  let headers = "";
  for (const name of signedHeaders) {
    const value = Object.hasOwn(head.headers, name) ? head.headers[name] : undefined; // C4
    if (value !== undefined) headers += `${name}:${trimmed(value)}\n`;
  }
  const path = isS3 ? canonicalKey(head.path) : encodePath(head.path); // C2
  const query = head.query === "" ? "" : canonicalQuery(head.query, inQuery);
  return `${head.method}\n${path}\n${query}\n${headers}\n${signedHeaders.join(";")}\n${payload}`;
}

/** Without spaces around it, and with one where there were several; no other byte is a space. */
function trimmed(value: string): string {
  return value.replace(/[ \t]+/g, " ").replace(/^ | $/g, "");
}

/** A key: each segment decoded once, and encoded again (C1). */
function canonicalKey(path: string): string {
  return encodePath(path, (segment) => encode(decoded(segment) ?? segment));
}

function encodePath(path: string, encoded = encode): string {
  return path === "/" ? path : path.split("/").map(encoded).join("/");
}

function canonicalQuery(query: string, inQuery: boolean): string {
  const pairs: [string, string][] = [];
  for (const part of query.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = formDecoded(equals === -1 ? part : part.slice(0, equals));
    if (inQuery && name === "X-Amz-Signature") continue;
    pairs.push([encode(name), equals === -1 ? "" : encode(formDecoded(part.slice(equals + 1)))]);
  }
  pairs.sort(([a, one], [b, other]) => compare(a, b) || compare(one, other));
  return pairs.map(([name, value]) => `${name}=${value}`).join("&");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** As URLSearchParams, with which actions read parameters, decodes them. */
function formDecoded(text: string): string {
  return decoded(text.replaceAll("+", " ")) ?? text;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Everything but letters, digits and -._~ as percent and two upper-case hex digits. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
