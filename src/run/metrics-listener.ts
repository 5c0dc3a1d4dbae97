// Metrics listener: /metrics for Prometheus and /health for whoever restarts processes.
//   L1. Loopback only: numbers tell of business, and nobody is asked who they are.
//   L2. Health is 200 while deliveries are taken, and 503 from the moment draining begins, so that
//       a load balancer or an orchestrator looks elsewhere.

import { TidegateError } from "../core/errors.ts";
import { createHttpListener } from "../platform/http/http-listener.ts";
import type { HttpReply } from "../ports/http.ts";

const HOST = "127.0.0.1"; // L1

export interface MetricsSource {
  /** Prometheus text, and its content type. */
  readonly metrics: () => { readonly text: string; readonly type: string };
  readonly health: () => { readonly ok: boolean; readonly facts: object };
  readonly onError: (error: unknown) => void;
}

export interface MetricsListener {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  close(): Promise<void>;
}

export async function startMetricsListener(
  source: MetricsSource,
  port: number,
): Promise<MetricsListener> {
  const answer = ({ method, path }: { method: string; path: string }): HttpReply => {
    if (method !== "GET" && method !== "HEAD") return reply(405, "text/plain", "GET only\n");
    if (path === "/metrics") {
      const { text, type } = source.metrics();
      return reply(200, type, text);
    }
    if (path !== "/health") return reply(404, "text/plain", "There are /metrics and /health.\n");
    const { ok, facts } = source.health();
    const body = { status: ok ? "ok" : "draining", ...facts };
    return reply(ok ? 200 : 503, "application/json", `${JSON.stringify(body)}\n`); // L2
  };
  const listener = createHttpListener(async (request) => answer(request), {
    onError: source.onError,
  });
  try {
    const chosen = await listener.listen(port, HOST);
    return { origin: `http://${HOST}:${chosen}`, close: () => listener.close() };
  } catch (error) {
    await listener.close();
    if ((error as { code?: string }).code !== "TG_PORT_IN_USE") throw error;
    const message = `Port ${port}, where /metrics is to be, is in use: choose another --metrics-port.`;
    throw new TidegateError("TG_PORT_IN_USE", message, { cause: error });
  }
}

function reply(status: number, type: string, body: string): HttpReply {
  return { status, headers: ["content-type", type, "cache-control", "no-store"], body };
}
