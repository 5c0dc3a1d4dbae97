// Console reply: the replies of the console, and the headers that keep a browser safe with them.
//   R1. No script runs that is not a file of this server, and no other page may frame the console.
//   R2. A reply is never stored by a cache on the way. The ETag lets a client ask cheaply whether
//       anything changed.

import { sha256Hex } from "../../core/encoding/hash.ts";
import type { HttpReply, HttpRequest } from "../../operate/cloud/embedded-cloud.ts";

/** R1 */
export const SAFE_HEADERS: readonly string[] = [
  "Content-Security-Policy",
  "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  "X-Content-Type-Options",
  "nosniff",
  "X-Frame-Options",
  "DENY",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
];

const JSON_HEADERS = [...SAFE_HEADERS, "Content-Type", "application/json", "Cache-Control"];
const NOT_MODIFIED = 304;
const ETAG_CHARS = 32;

/** The request cannot be answered; `message` is one sentence with the fix. */
export class ConsoleRefusal extends Error {
  override readonly name = "ConsoleRefusal";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function refuseRequest(status: number, code: string, message: string): never {
  throw new ConsoleRefusal(status, code, message);
}

/** The answer to a GET: 304 if the client has it already (R2). */
export function viewReply(request: HttpRequest, view: object): HttpReply {
  const body = `${JSON.stringify(view)}\n`;
  const etag = `"${sha256Hex(body).slice(0, ETAG_CHARS)}"`;
  const headers = [...JSON_HEADERS, "no-cache", "ETag", etag];
  const has = request.headers["if-none-match"]?.split(/,\s*/) ?? [];
  if (has.includes(etag)) return { status: NOT_MODIFIED, headers, body: "" };
  return { status: 200, headers, body };
}

/** The answer to an action. */
export function actionReply(status: number, value: object, headers: readonly string[] = []) {
  const body = `${JSON.stringify(value)}\n`;
  return { status, headers: [...JSON_HEADERS, "no-store", ...headers], body };
}

export function refusalReply(status: number, code: string, message: string): HttpReply {
  return actionReply(status, { error: { code, message } });
}
