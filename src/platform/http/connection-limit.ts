// Connection limit: how many connections one server has.
//   K1. At the limit, a new connection replaces the one that has been idle for longest. So idle
//       connections never keep a client out.
//   K2. If all connections are busy, the new one is refused.
//   K3. A connection is idle from its last reply, or from its start, to the first bytes of a
//       request that is understood.

import type { Server } from "node:http";
import type { Socket } from "node:net";

/** A connection that may be idle. */
export interface IdleCandidate {
  /** In the time of performance.now(); Infinity while it is busy or closed. */
  readonly idleSince: number;
  destroy(): void;
}

/** Guards all listeners that the server has for new connections. */
export function limitConnections(
  server: Server,
  connectionsMax: number,
  candidates: () => Iterable<IdleCandidate>,
): void {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  let open = 0;
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (open >= connectionsMax && !replaceIdle(candidates())) {
      socket.destroy(); // K2
      return;
    }
    open += 1;
    socket.once("close", () => {
      open -= 1;
    });
    for (const listener of listeners) listener.call(server, socket);
  });
}

/** Closes the connection that has been idle for longest (K1); false if none is idle. */
function replaceIdle(candidates: Iterable<IdleCandidate>): boolean {
  let longest: IdleCandidate | null = null;
  let since = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const { idleSince } = candidate;
    if (idleSince >= since) continue;
    since = idleSince;
    longest = candidate;
  }
  longest?.destroy();
  return longest !== null;
}

/** The connections of node:http, with the number of their open requests. */
export class SlowSockets {
  readonly #all = new Map<Socket, SlowSocket>();

  add(socket: Socket): void {
    this.#all.set(socket, new SlowSocket(socket));
    socket.once("close", () => this.#all.delete(socket));
  }

  begin(socket: Socket): void {
    const entry = this.#all.get(socket);
    if (entry !== undefined) entry.requests += 1;
  }

  end(socket: Socket): void {
    const entry = this.#all.get(socket);
    if (entry === undefined) return;
    entry.requests -= 1;
    entry.since = performance.now();
  }

  candidates(): Iterable<IdleCandidate> {
    return this.#all.values();
  }
}

class SlowSocket implements IdleCandidate {
  requests = 0;
  since = performance.now();
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get idleSince(): number {
    const isIdle = this.requests === 0 && !this.#socket.destroyed;
    return isIdle ? this.since : Number.POSITIVE_INFINITY; // K3
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
