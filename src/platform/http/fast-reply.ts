// Fast reply: formats a text reply as one string, as node:http would write it.
//   R1. A header value cannot end its line: the assertion fails, and nothing is sent.

import { STATUS_CODES } from "node:http";
import { assert } from "../../core/assert.ts";
import type { HttpReply } from "../../ports/http/http.ts";

const SECOND_MS = 1_000;
/** Characters allowed in a header value; others could end its line. */
const PRINTABLE = /^[\t -~]*$/;
/** Statuses without a body, and so without a content length. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** The reply if the handler throws. */
export const INTERNAL_ERROR: HttpReply = { status: 500, headers: [], body: "" };
/** The reply if too many request bodies wait for memory. JSON, as most SDKs expect it. */
export const BUSY: HttpReply = {
  status: 503,
  headers: ["Content-Type", "application/x-amz-json-1.0", "Retry-After", "1"],
  body: JSON.stringify({
    __type: "ServiceUnavailable",
    message: "Too many unfinished requests wait for memory. Retry the request.",
  }),
};
/** The reply to a request that names two hosts. */
export const TWO_HOSTS: HttpReply = {
  status: 400,
  headers: ["Content-Type", "text/plain"],
  body: "the request has two Host headers\n",
};

export interface FastReply {
  readonly text: string;
  /** "latin1" if each character is one byte, which is cheaper to write. */
  readonly encoding: "latin1" | "utf8";
}

/** The connection closes after this reply if `keepAliveMs` is null. */
export function writeFastReply(reply: HttpReply, keepAliveMs: number | null): FastReply {
  const { status, headers } = reply;
  assert(typeof reply.body === "string", "the reply to a simple request is text");
  const body = BODILESS.has(status) ? "" : reply.body;
  const bytes = Buffer.byteLength(body);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    assert(PRINTABLE.test(value), `the header ${headers[at]} contains only printable text`); // R1
    head += `${headers[at]}: ${value}\r\n`;
  }
  if (!BODILESS.has(status)) head += `content-length: ${bytes}\r\n`;
  const text = `${head}Date: ${dateNow()}\r\n${connectionLines(keepAliveMs)}\r\n${body}`;
  return { text, encoding: bytes === body.length ? "latin1" : "utf8" };
}

function connectionLines(keepAliveMs: number | null): string {
  if (keepAliveMs === null) return "connection: close\r\n";
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / SECOND_MS}\r\n`;
}

let dateSecond = -1;
let date = "";

/** The value of the Date header, formatted once a second. */
function dateNow(): string {
  const now = Date.now();
  const second = Math.floor(now / SECOND_MS);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(now).toUTCString();
  }
  return date;
}
