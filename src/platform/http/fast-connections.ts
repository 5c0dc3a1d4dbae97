// Fast connections: all sockets of one server that have only sent simple requests so far.
//   L1. A new connection starts here and reaches the server's own listeners when it is handed over;
//       from then on it belongs to the server alone, with all its limits.

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { FastConnection, type FastService } from "./fast-connection.ts";
import { OpenExchanges } from "./open-exchanges.ts";

export interface FastConnections extends Iterable<FastConnection> {
  /** Cuts off clients that missed their deadline. */
  cutSlow(now: number): void;
  /** Closes idle connections, and aborts requests in flight. */
  close(): void;
  /** Closes all connections in any state. */
  destroy(): void;
}

export type FastServiceOptions = Omit<FastService, "handOver" | "forget">;

/** Receives the connections of a server before the server does (L1). */
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
      for (const connection of all) {
        if (now > connection.deadline || connection.isInTheWay(now)) connection.expire();
      }
    },
    [Symbol.iterator]: () => all[Symbol.iterator](),
    close() {
      for (const connection of all) connection.close();
    },
    destroy() {
      for (const connection of all) connection.destroy();
    },
  };
}
