// Plain request: a POST whose length is told beforehand, as every SDK sends them to queues and
// topics. Nearly all requests are of this kind, and reading one takes a fraction of what node:http
// does for it. The rest of HTTP is left to node:http.
//   P1. What is plain here means the same to node:http. What could mean anything else, or nothing
//       (a header sent twice, a chunked body, a folded line, a stray byte), is not plain.
//   P2. Reading costs one pass over the head, whatever follows it.

import type { HttpHead } from "../../ports/http.ts";

/** A longer head is none of ours; node:http takes some more and refuses the rest. */
const HEAD_BYTES_MAX = 8 * 1_024;
const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";

/** The request line, whose target is a path, and lines of a name and printable text (P1). */
const PLAIN_HEAD =
  /^POST \/[!"$-~]* HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t -~]*\r\n)+\r\n/;
const TARGET_START = "POST ".length;
const VERSION_CHARS = " HTTP/1.1".length;

/** Headers that change what a request is, or where it ends. */
const NOT_PLAIN = ["transfer-encoding", "expect", "upgrade", "proxy-connection"] as const;

const SPACE = 0x20;
const TAB = 0x09;

export interface FastHead extends HttpHead {
  /** Where the body begins and ends, counted from the first byte of the request. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** Null if the head is not whole, is not plain, or tells of a body longer than `bodyBytesMax`. */
export function readFastHead(bytes: Buffer, bodyBytesMax: number): FastHead | null {
  const text = bytes.toString("latin1", 0, Math.min(bytes.length, HEAD_BYTES_MAX));
  if (!PLAIN_HEAD.test(text)) return null;
  const lineEnd = text.indexOf(LINE_END);
  const headEnd = text.indexOf(HEAD_END, lineEnd) + LINE_END.length;
  const headers = readHeaders(text, lineEnd + LINE_END.length, headEnd);
  if (headers === null) return null;
  const bodyBytes = plainBodyBytes(headers);
  if (bodyBytes === null || bodyBytes > bodyBytesMax) return null;
  const target = text.slice(TARGET_START, lineEnd - VERSION_CHARS);
  const mark = target.indexOf("?");
  const bodyStart = headEnd + LINE_END.length;
  return {
    method: "POST",
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? "" : target.slice(mark + 1),
    headers,
    bodyStart,
    bodyEnd: bodyStart + bodyBytes,
  };
}

type Headers = Record<string, string | undefined>;

/** Null if a header comes twice: which of them counts, and how, is node:http's to know (P1). */
function readHeaders(text: string, from: number, to: number): Headers | null {
  const headers: Headers = Object.create(null);
  let at = from;
  while (at < to) {
    const colon = text.indexOf(":", at);
    const end = text.indexOf(LINE_END, colon);
    const name = text.slice(at, colon).toLowerCase();
    if (headers[name] !== undefined) return null;
    headers[name] = trimmed(text, colon + 1, end);
    at = end + LINE_END.length;
  }
  return headers;
}

/** Without the spaces and tabs around it, which are not part of a value. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(char: number): boolean {
  return char === SPACE || char === TAB;
}

/** Null if there is anything in the headers that makes the request more than plain. */
function plainBodyBytes(headers: Headers): number | null {
  for (const name of NOT_PLAIN) if (headers[name] !== undefined) return null;
  const { host, connection, "content-length": length } = headers;
  if (host === undefined || length === undefined || !/^\d{1,9}$/.test(length)) return null;
  if (connection !== undefined && connection.toLowerCase() !== "keep-alive") return null;
  return Number(length);
}
