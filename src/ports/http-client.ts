// HttpClient: one request to somebody else's endpoint, and the status of its answer.
//   C1. Redirects are not followed: an endpoint that moved must be subscribed anew.
//   C2. No answer within the time, a broken connection, a certificate nobody trusts: all of these
//       reject. What status an answer has is for the caller to judge.

import type { DurationMs } from "../core/units.ts";

export interface HttpPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
  /** For the whole exchange, from the first byte sent to the last one read. */
  readonly timeoutMs: DurationMs;
}

export interface HttpClient {
  /** Resolves with the status; rejects as soon as `signal` aborts. */
  post(request: HttpPost, signal: AbortSignal): Promise<number>;
}
