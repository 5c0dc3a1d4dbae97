// HttpClient: sends one request to an external endpoint and returns the status of its response.
//   C1. Redirects are not followed: an endpoint that moved must be subscribed again.
//   C2. A timeout, a broken connection and an untrusted certificate reject. Judging the status of a
//       response is up to the caller.

import type { DurationMs } from "../../core/units.ts";

export interface HttpPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
  /** Timeout of the whole exchange, from the first byte sent to the last one read. */
  readonly timeoutMs: DurationMs;
}

export interface HttpClient {
  /** Resolves with the status; rejects as soon as `signal` aborts. */
  post(request: HttpPost, signal: AbortSignal): Promise<number>;
}
