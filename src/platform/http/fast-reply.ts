// Plain reply: a reply that is text, written by hand into one string, as node:http would write it.
//   R1. No header's value ends its line: one that would is refused, and nothing is sent.

import { STATUS_CODES } from "node:http";
import { assert } from "../../core/assert.ts";
import type { HttpReply } from "../../ports/http.ts";

const SECOND_MS = 1_000;
/** What a header may hold; anything else could be taken for the end of its line. */
const PRINTABLE = /^[\t -~]*$/;
/** Statuses that have no body, and so no length of one. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** For a handler that failed. */
export const INTERNAL_ERROR: HttpReply = { status: 500, headers: [], body: "" };

export interface FastReply {
  readonly text: string;
  /** "latin1" where each character is a byte, which is cheaper to write. */
  readonly encoding: "latin1" | "utf8";
}

/** The connection ends with this reply when `keepAliveMs` is null. */
export function writeFastReply(reply: HttpReply, keepAliveMs: number | null): FastReply {
  const { status, headers } = reply;
  assert(typeof reply.body === "string", "a plain request is answered by text");
  const body = BODILESS.has(status) ? "" : reply.body;
  const bytes = Buffer.byteLength(body);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    assert(PRINTABLE.test(value), `the header ${headers[at]} holds printable text`); // R1
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

/** The hour as headers tell it, which is made anew once a second. */
function dateNow(): string {
  const now = Date.now();
  const second = Math.floor(now / SECOND_MS);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(now).toUTCString();
  }
  return date;
}
