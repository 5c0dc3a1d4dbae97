// Metrics listener: /metrics for Prometheus and /health for an orchestrator.
//   L1. It listens on loopback by default: metrics reveal business figures, and callers are not
//       authenticated. There it answers only to local and allowed host names, and to no page of
//       another site.
//   L2. /health is 200 while the pipeline receives, and 503 from the start of a drain, so that load
//       balancers and orchestrators stop counting on it.

import { guardHosts } from "../broker/wire/protocol/host-guard.ts";
import { endpointOf, hostGuardOf } from "../cloud/loopback.ts";
import { TidegateError } from "../core/errors.ts";
import { isForeignPage } from "../core/foreign-page.ts";
import { createHttpListener } from "../platform/http/http-listener.ts";
import type { HttpHead, HttpReply } from "../ports/http/http.ts";
import type { MetricsPage } from "../telemetry/create-telemetry.ts";

/** Where metrics are served; port 0 picks a free port. */
export interface MetricsAddress {
  readonly port: number;
  /** Default: 127.0.0.1 (L1). */
  readonly host?: string;
  /** Names other than local ones that clients may call it by (Host header). */
  readonly allowedHosts?: readonly string[];
}

export interface MetricsSource {
  /** The metrics in the format that the Accept header asks for, and its content type. */
  readonly metrics: (accept: string | undefined) => MetricsPage;
  readonly health: () => { readonly ok: boolean; readonly facts: object };
  readonly onError: (error: unknown) => void;
}

/** A running server of /metrics and /health; `close` ends it. */
export interface MetricsListener {
  /** `http://host:port` */
  readonly origin: string;
  close(): Promise<void>;
}

export async function startMetricsListener(
  source: MetricsSource,
  { port, host = "127.0.0.1", allowedHosts = [] }: MetricsAddress,
): Promise<MetricsListener> {
  const answer = ({ method, path, headers }: HttpHead): HttpReply => {
    if (isForeignPage({ headers })) return reply(403, "text/plain", "pages may not read this\n"); // L1
    if (method !== "GET" && method !== "HEAD") return reply(405, "text/plain", "GET only\n");
    if (path === "/metrics") {
      const { text, type } = source.metrics(headers.accept);
      return reply(200, type, text);
    }
    if (path !== "/health") return reply(404, "text/plain", "not found: use /metrics or /health\n");
    const { ok, facts } = source.health();
    const body = { status: ok ? "ok" : "draining", ...facts };
    return reply(ok ? 200 : 503, "application/json", `${JSON.stringify(body)}\n`); // L2
  };
  const guarded = guardHosts(async (request) => answer(request), hostGuardOf(host, allowedHosts));
  const listener = createHttpListener(guarded, { onError: source.onError });
  try {
    const chosen = await listener.listen(port, host);
    return { origin: endpointOf(host, chosen), close: () => listener.close() };
  } catch (error) {
    await listener.close();
    throw faultOf(error, { port, host });
  }
}

function faultOf(error: unknown, { port, host }: MetricsAddress): unknown {
  const { code } = error as { readonly code?: string };
  if (code === "TG_PORT_IN_USE") {
    const message = `port ${port} for /metrics is in use; choose another port for metrics`;
    return new TidegateError("TG_PORT_IN_USE", message, { cause: error });
  }
  if (code !== "TG_CONFIG_INVALID") return error;
  const message = `/metrics cannot listen on "${host}", port ${port}; choose another host`;
  return new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
}

function reply(status: number, type: string, body: string): HttpReply {
  return { status, headers: ["content-type", type, "cache-control", "no-store"], body };
}
