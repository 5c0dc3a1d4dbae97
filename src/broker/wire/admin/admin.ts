// The admin: a small JSON API beside AWS's, under /_tidegate.
//   D1. Looking changes nothing: every GET is free of effects.
//   D2. A web page cannot call it: a POST must be declared as JSON, which a page may not send to
//       another site unasked, and what a browser marks as coming from elsewhere is refused.

import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import type { ServerContext } from "../protocol/call.ts";
import { reportFailure } from "../protocol/failure.ts";
import { isForeignPage } from "../protocol/foreign-page.ts";
import { adminError, adminFault } from "./admin-reply.ts";
import type { AdminOptions, AdminRoute } from "./admin-route.ts";
import { clock } from "./clock.ts";
import { faults } from "./fault-routes.ts";
import { health } from "./health.ts";
import { messages } from "./messages.ts";
import { queues } from "./queues.ts";
import { topics } from "./topics.ts";

export type { AdminClock, AdminOptions } from "./admin-route.ts";

const ROOT = "/_tidegate";

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  health,
  queues,
  messages,
  topics,
  faults,
  clock,
];

export function isAdminPath(path: string): boolean {
  return path.startsWith(ROOT) && (path.length === ROOT.length || path[ROOT.length] === "/");
}

export async function answerAdmin(
  site: ServerContext,
  options: AdminOptions,
  request: HttpRequest,
): Promise<HttpReply> {
  if (isForeignPage(request)) {
    return adminError(403, "ForeignPage", "A page of another site may not call this."); // D2
  }
  if (request.bodyTooLarge) return adminError(413, "BodyTooLarge", "The body is too long.");
  const steps = readPath(request.path);
  if (steps === null)
    return adminError(400, "InvalidPath", "The path is not percent-encoded UTF-8.");
  for (const route of ADMIN_ROUTES) {
    const name = matchRoute(route, steps);
    if (name === null) continue;
    const method = route.methods[request.method as keyof AdminRoute["methods"]];
    if (method === undefined) return wrongMethod(route);
    if (request.method === "POST" && !isJson(request)) {
      return adminError(415, "NotJson", "A POST needs the header Content-Type: application/json.");
    }
    const parameters = new URLSearchParams(request.query);
    try {
      return await method({ site, options, request, parameters, name });
    } catch (error) {
      return adminFault(reportFailure(site, request, error));
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

/** The name in the path, empty if the route takes none; null if the route does not fit. */
function matchRoute(route: AdminRoute, steps: readonly string[]): string | null {
  const wanted = route.path.split("/");
  if (wanted.length !== steps.length) return null;
  let name = "";
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] === "NAME") name = steps[i]!;
    else if (wanted[i] !== steps[i]) return null;
  }
  return name;
}

function isJson(request: HttpRequest): boolean {
  return request.headers["content-type"]?.startsWith("application/json") === true;
}

function wrongMethod(route: AdminRoute): HttpReply {
  const allowed = Object.keys(route.methods).join(", ");
  const reply = adminError(405, "WrongMethod", `This path takes ${allowed}.`);
  return { ...reply, headers: [...reply.headers, "Allow", allowed] };
}

function notFound(): HttpReply {
  const known = ADMIN_ROUTES.map((route) => `${ROOT}/${route.path}: ${route.summary}`).join("; ");
  return adminError(404, "UnknownPath", `There is no such page. There are: ${known}.`);
}
