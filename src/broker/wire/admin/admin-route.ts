// Admin routes: what a page of the admin is, and what it sees of a request.

import type { DurationMs, EpochMs } from "../../../core/units.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import type { ServerContext } from "../protocol/call.ts";

/** Time that moves only when told to. */
export interface AdminClock {
  now(): EpochMs;
  /** Resolves once all that became due has been done. */
  advance(span: DurationMs): Promise<void>;
}

export interface AdminOptions {
  /** Absent: the server runs on the system's clock. */
  readonly virtualClock?: AdminClock | undefined;
  readonly version?: string | undefined;
}

export interface AdminCall {
  readonly site: ServerContext;
  readonly options: AdminOptions;
  readonly request: HttpRequest;
  readonly parameters: URLSearchParams;
  /** What stands in the path where the route says NAME; empty if it does not. */
  readonly name: string;
}

type AdminMethod = (call: AdminCall) => HttpReply | Promise<HttpReply>;

export interface AdminRoute {
  /** Below /_tidegate/; a step NAME takes any value. */
  readonly path: string;
  readonly summary: string;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "DELETE", AdminMethod>>>;
}

export function adminRoute(route: AdminRoute): AdminRoute {
  return route;
}
