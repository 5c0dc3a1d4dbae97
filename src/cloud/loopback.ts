// Loopback: addresses that only this machine can reach, and by which names clients call a server.

import { isIP } from "node:net";
import type { HostGuardOptions } from "../broker/wire/protocol/host-guard.ts";

/** Whether only this machine can reach a server on that address. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

/** By which names clients may call a server on that address: local ones, its own, and `names`. */
export function hostGuardOf(host: string, names: readonly string[]): HostGuardOptions {
  return { loopback: isLoopback(host), allowedHosts: [host, ...names] };
}

/** Clients cannot call a wildcard address, but they can call loopback. */
export function endpointOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
