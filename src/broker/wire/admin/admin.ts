// The admin API: a small JSON API under /_tidegate, next to the AWS APIs.
//   D1. Reads have no side effects: no GET changes state.
//   D2. A web page cannot call it. A POST must have a JSON content type, which a page may not send
//       to another site without a preflight. A request that a browser marks as cross-site is
//       refused.
//   D3. Requests to it are not signed. Where other requests must be signed, it answers only to
//       programs on the same machine, and to others only whether it is healthy.

import { isForeignPage } from "../../../core/foreign-page.ts";
import { mediaTypeOf } from "../../../core/media-type-of.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import type { ServerContext } from "../protocol/call.ts";
import { reportFailure } from "../protocol/failure.ts";
import { isLocal } from "../protocol/local-request.ts";
import { adminError, adminFault } from "./admin-reply.ts";
import type { AdminOptions, AdminRoute } from "./admin-route.ts";
import { clock } from "./clock.ts";
import { faults } from "./fault-routes.ts";
import { health } from "./health.ts";
import { messages } from "./messages.ts";
import { metrics } from "./metrics.ts";
import { queues } from "./queues.ts";
import { retryRoute } from "./retry-route.ts";
import { topics } from "./topics.ts";

export type { AdminClock, AdminOptions } from "./admin-route.ts";

const ROOT = "/_tidegate";

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  health,
  queues,
  messages,
  retryRoute,
  topics,
  faults,
  clock,
  metrics,
];

export function isAdminPath(path: string): boolean {
  return path.startsWith(ROOT) && (path.length === ROOT.length || path[ROOT.length] === "/");
}

export async function answerAdmin(
  server: ServerContext,
  options: AdminOptions,
  request: HttpRequest,
): Promise<HttpReply> {
  if (isForeignPage(request)) {
    return adminError(403, "ForeignPage", "cross-site requests are not allowed"); // D2
  }
  if (server.authority !== null && !isLocal(request) && request.path !== `${ROOT}/health`) {
    return adminError(403, "NotLocal", "with keys, only programs on its machine may call this"); // D3
  }
  if (request.bodyTooLarge) return adminError(413, "BodyTooLarge", "the request body is too long");
  const segments = readPath(request.path);
  if (segments === null)
    return adminError(400, "InvalidPath", "the path is not percent-encoded UTF-8");
  for (const route of ADMIN_ROUTES) {
    const name = matchRoute(route, segments);
    if (name === null) continue;
    const method = route.methods[request.method as keyof AdminRoute["methods"]];
    if (method === undefined) return wrongMethod(route);
    if (request.method === "POST" && mediaTypeOf(request.headers) !== "application/json") {
      return adminError(415, "NotJson", "a POST needs the header Content-Type: application/json");
    }
    const parameters = new URLSearchParams(request.query);
    try {
      return await method({ server, options, request, parameters, name });
    } catch (error) {
      return adminFault(reportFailure(server, request, error));
    }
  }
  return notFound();
}

function readPath(path: string): string[] | null {
  try {
    return path
      .slice(ROOT.length + 1)
      .split("/")
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Returns the segment that matches NAME (empty if there is none), or null if nothing matches. */
function matchRoute(route: AdminRoute, segments: readonly string[]): string | null {
  const pattern = route.path.split("/");
  if (pattern.length !== segments.length) return null;
  let name = "";
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] === "NAME") name = segments[i]!;
    else if (pattern[i] !== segments[i]) return null;
  }
  return name;
}

function wrongMethod(route: AdminRoute): HttpReply {
  const allowed = Object.keys(route.methods).join(", ");
  const reply = adminError(405, "WrongMethod", `this path accepts ${allowed}`);
  return { ...reply, headers: [...reply.headers, "Allow", allowed] };
}

function notFound(): HttpReply {
  const routes = ADMIN_ROUTES.map((route) => `${ROOT}/${route.path}: ${route.summary}`).join("; ");
  return adminError(404, "UnknownPath", `unknown path; the admin API has ${routes}`);
}
