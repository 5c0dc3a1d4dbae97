// PostgreSQL proxy: can lose a connection after the effect. It waits for the server's answer to a
// statement and then cuts the connection, or stops forwarding.

import { createServer, connect as openSocket, type Socket } from "node:net";

export interface PostgresProxy extends AsyncDisposable {
  /** The address of the database, by way of the proxy. */
  readonly url: string;
  /** Loses the connection that next sends `text`, once the server has answered. */
  loseAfter(text: string, how: "cut" | "silence"): void;
  /** How many connections were lost. */
  lost(): number;
}

export async function createPostgresProxy(target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let losing: { readonly text: string; readonly how: "cut" | "silence" } | null = null;
  let lost = 0;
  const track = (socket: Socket, peer: () => Socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      open.delete(socket);
      peer().destroy();
    });
  };
  const server = createServer((near) => {
    const far = openSocket(Number(port), hostname);
    track(near, () => far);
    track(far, () => near);
    let loss: "cut" | "silence" | null = null;
    let dead = false;
    near.on("data", (sent) => {
      if (losing !== null && sent.includes(losing.text)) {
        loss = losing.how;
        losing = null;
      }
      far.write(sent);
    });
    far.on("data", (answer) => {
      if (loss === null) near.write(answer);
      else if (!dead) {
        dead = true;
        lost += 1;
        if (loss === "cut") near.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: target.replace(`${hostname}:${port}`, `127.0.0.1:${address.port}`),
    loseAfter(text, how) {
      losing = { text, how };
    },
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
