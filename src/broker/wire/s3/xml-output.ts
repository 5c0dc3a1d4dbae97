// XML output: the documents that S3 returns, written by hand because they are few and flat.
//   X1. Text is escaped so that any key can be returned: a character that XML cannot contain
//       becomes a character reference, as in S3.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import { type EpochMs, epochMs } from "../../../core/units.ts";
import type { HttpReply } from "../../../ports/http/http.ts";

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
// biome-ignore lint/suspicious/noControlCharactersInRegex: it escapes control characters.
const SPECIAL = /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/g;

const NAMED: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "\n",
  "\t": "\t",
};

export function escapeS3Xml(value: string): string {
  return value.replace(
    SPECIAL,
    (character) => NAMED[character] ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

/** An element with text content. */
export function textElement(name: string, value: string | number | boolean): string {
  return `<${name}>${escapeS3Xml(String(value))}</${name}>`;
}

/** An element with a timestamp: S3 truncates to seconds but writes milliseconds. */
export function instant(name: string, at: EpochMs): string {
  return textElement(name, formatInstant(epochMs(Math.floor(at / 1_000) * 1_000)));
}

/** An element with text content, or nothing if the value is absent. */
export function optionalText(name: string, value: string | number | boolean | null | undefined) {
  return value === null || value === undefined ? "" : textElement(name, value);
}

/** An element with child elements. */
export function element(name: string, ...content: string[]): string {
  return `<${name}>${content.join("")}</${name}>`;
}

export function xmlDocument(content: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${content}`;
}

/** A reply with the document whose root is `name`, in S3's namespace. */
export function xmlReply(
  name: string,
  content: string,
  headers: readonly string[] = [],
): HttpReply {
  const body = xmlDocument(`<${name} xmlns="${NAMESPACE}">${content}</${name}>`);
  return { status: 200, headers: ["Content-Type", "application/xml", ...headers], body };
}

export function emptyReply(status: number, headers: readonly string[] = []): HttpReply {
  return { status, headers, body: "" };
}
