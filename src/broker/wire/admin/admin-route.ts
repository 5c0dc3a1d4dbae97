// Admin routes: the type of one route, and of the call that its methods receive.

import type { DurationMs, EpochMs } from "../../../core/units.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import type { QueueCounts } from "../../model/operations.ts";
import type { TopicCounts } from "../../model/sns/topic-operations-contract.ts";
import type { ServerContext } from "../protocol/call.ts";

/** A clock that only moves when a caller advances it. */
export interface AdminClock {
  now(): EpochMs;
  /** Resolves after all work that became due has finished. */
  advance(span: DurationMs): Promise<void>;
}

export interface AdminOptions {
  /** Absent: the server runs on the system clock. */
  readonly virtualClock?: AdminClock | undefined;
  readonly version?: string | undefined;
  /** Renders the metrics; absent: there are none. */
  readonly metrics?: (
    counts: { readonly queues: readonly QueueCounts[]; readonly topics: readonly TopicCounts[] },
    accept: string | undefined,
  ) => { readonly text: string; readonly type: string };
}

export interface AdminCall {
  readonly server: ServerContext;
  readonly options: AdminOptions;
  readonly request: HttpRequest;
  readonly parameters: URLSearchParams;
  /** The path segment that matches NAME; empty if the route has none. */
  readonly name: string;
}

type AdminMethod = (call: AdminCall) => HttpReply | Promise<HttpReply>;

export interface AdminRoute {
  /** Relative to /_tidegate/; the segment NAME matches any value. */
  readonly path: string;
  readonly summary: string;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "DELETE", AdminMethod>>>;
}

export function adminRoute(route: AdminRoute): AdminRoute {
  return route;
}
