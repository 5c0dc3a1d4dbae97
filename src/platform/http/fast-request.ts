// Fast request: parses a simple request, a POST with a content length, as every SDK sends it to
// queues and topics. Nearly all requests are simple, and parsing one here takes a fraction of the
// time of node:http. node:http handles all other requests.
//   P1. A simple request means the same to node:http. A request that could mean anything else (a
//       repeated header, a chunked body, a folded line, a stray byte) is not simple.
//   P2. Parsing takes one pass over the head, whatever follows it.

import type { HttpHead } from "../../ports/http/http.ts";

/** Longer heads go to node:http, which accepts some more and refuses the rest. */
const HEAD_BYTES_MAX = 8 * 1_024;
const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";

/** The request line, whose target is a path, and lines of a name and printable text (P1). */
const SIMPLE_HEAD =
  /^POST \/[!"$-~]* HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t -~]*\r\n)+\r\n/;
const TARGET_START = "POST ".length;
const VERSION_CHARS = " HTTP/1.1".length;

/** Headers that change the kind or the end of a request. */
const NOT_SIMPLE = ["transfer-encoding", "expect", "upgrade", "proxy-connection"] as const;

const SPACE = 0x20;
const TAB = 0x09;

export interface FastHead extends HttpHead {
  /** Offsets from the first byte of the request. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** Null if the head is incomplete or not simple, or if the body exceeds `bodyBytesMax`. */
export function readFastHead(bytes: Buffer, bodyBytesMax: number): FastHead | null {
  const text = bytes.toString("latin1", 0, Math.min(bytes.length, HEAD_BYTES_MAX));
  if (!SIMPLE_HEAD.test(text)) return null;
  const lineEnd = text.indexOf(LINE_END);
  const headEnd = text.indexOf(HEAD_END, lineEnd) + LINE_END.length;
  const headers = readHeaders(text, lineEnd + LINE_END.length, headEnd);
  if (headers === null) return null;
  const bodyBytes = bodyBytesOf(headers);
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

/** Null if a header is repeated: node:http decides which one counts (P1). */
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

/** Removes the spaces and tabs around a value. */
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

/** Null if a header makes the request more than simple. */
function bodyBytesOf(headers: Headers): number | null {
  for (const name of NOT_SIMPLE) if (headers[name] !== undefined) return null;
  const { host, connection, "content-length": length } = headers;
  if (host === undefined || length === undefined || !/^\d{1,9}$/.test(length)) return null;
  if (connection !== undefined && connection.toLowerCase() !== "keep-alive") return null;
  return Number(length);
}
