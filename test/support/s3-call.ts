// S3 call: one request to the embedded S3 through its HTTP function, without sockets.

import type { HttpHandler } from "../../src/ports/http/http.ts";

/** Sends a request such as `PUT bucket/key`; throws unless S3 accepts it. */
export async function callS3(
  http: HttpHandler,
  method: string,
  target: string,
  body: string | Uint8Array = "",
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const { pathname, search } = new URL(target, "http://localhost");
  const reply = await http({
    method,
    path: pathname,
    query: search.slice(1),
    headers: { ...headers, host: "localhost", "content-length": String(bytes.length) },
    body: new Uint8Array(),
    bodyTooLarge: false,
    bodyStream: streamOf(bytes),
    signal: new AbortController().signal,
    requestId: "00000000-0000-4000-8000-000000000000",
  });
  if (reply.status >= 300) throw new Error(`${method} ${target}: ${reply.status} ${reply.body}`);
}

async function* streamOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
