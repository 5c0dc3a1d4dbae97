// Plain connections: all sockets that have sent nothing but plain requests so far, of one server.
//   L1. A new connection comes here first, and reaches the server's own listeners when it hands
//       itself over; from then on it is the server's alone, with all its limits.

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { FastConnection, type FastService } from "./fast-connection.ts";
import { OpenExchanges } from "./open-exchanges.ts";

export interface FastConnections {
  /** Cuts off whoever is waited for too long. */
  cutSlow(now: number): void;
  /** Ends those that are idle, and tells requests under way to come to an end. */
  close(): void;
  /** Ends them all, whatever they are at. */
  destroy(): void;
}

export type FastServiceOptions = Omit<FastService, "handOver" | "forget">;

/** Takes the connections of a server before the server does (L1). */
export function createFastConnections(
  server: Server,
  options: FastServiceOptions,
): FastConnections {
  const all = new OpenExchanges<FastConnection>();
  const own = server.listeners("connection") as ((socket: Socket) => void)[];
  const service: FastService = {
    ...options,
    handOver: (socket) => {
      for (const listener of own) listener.call(server, socket);
    },
    forget: (connection) => all.delete(connection),
  };
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => all.add(new FastConnection(socket, service)));
  return {
    cutSlow(now) {
      for (const connection of all) if (now > connection.deadline) connection.expire();
    },
    close() {
      for (const connection of all) connection.close();
    },
    destroy() {
      for (const connection of all) connection.destroy();
    },
  };
}
