// API client: all requests of the page to the JSON API (docs/reference/console-api.openapi.json).
//   A1. A request that changes something is a POST, PUT or DELETE with a JSON or a binary body. A
//       page of another site cannot send one without the server's permission.
//   A2. Every failure is an ApiError with a text for people. Status 0 means no answer at all.
//   A3. The token of a console that is not on loopback is exchanged for a cookie, which scripts
//       cannot read. The page never stores the token.

const BASE = "/_tidegate/api/v1";

/** A request that failed (A2). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON, except for a File or Blob, which is sent as it is. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Calls `path` below the API's base path and returns the decoded answer. */
export async function callApi<T>(path: string, options: CallOptions = {}): Promise<T> {
  const { method = "GET", body, signal } = options;
  const isBytes = body instanceof Blob;
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") {
    headers["content-type"] = isBytes ? "application/octet-stream" : "application/json"; // A1
  }
  const request: RequestInit = { method, headers, cache: "no-cache", signal: signal ?? null };
  if (isBytes) request.body = body;
  else if (method !== "GET") request.body = JSON.stringify(body ?? {});
  const response = await fetch(`${BASE}${path}`, request).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "the console's server does not answer");
  });
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, answer);
  return answer as T;
}

/** Exchanges the token for a cookie (A3). */
export async function logIn(token: string): Promise<void> {
  await callApi("/login", { method: "POST", body: { token } });
}

function errorOf(response: Response, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as { error?: { code?: unknown; message?: unknown } };
  const message = typeof error?.message === "string" ? error.message : response.statusText;
  const code = typeof error?.code === "string" ? error.code : "unknown";
  return new ApiError(response.status, code, message || `status ${response.status}`);
}
