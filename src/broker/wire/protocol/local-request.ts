// Local request: whether a program on the same machine sent a request.

import type { HttpRequest } from "../../../ports/http/http.ts";

type From = Pick<HttpRequest, "remoteAddress" | "headers">;

const PROXY_HEADERS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** A proxy on the same machine passes on requests of others, and says so. */
export function isLocal({ remoteAddress, headers }: From): boolean {
  if (PROXY_HEADERS.some((name) => headers[name] !== undefined)) return false;
  return isOwnAddress(remoteAddress);
}

/** A request without an address never left the process. */
export function isOwnAddress(remoteAddress = "127.0.0.1"): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress);
}
