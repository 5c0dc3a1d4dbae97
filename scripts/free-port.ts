// Free port: finds a port for a server that starts later, or restarts, and so cannot use port 0.
// The range is below the ephemeral ports that systems assign to connections and to port 0: one of
// those could be in use by the time the server starts.

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const FIRST = 20_000;
const BEYOND = 30_000;
const TRIES_MAX = 100;

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(FIRST, BEYOND);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port after ${TRIES_MAX} tries from ${FIRST} to ${BEYOND - 1}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (listening) await new Promise((resolve) => server.close(resolve));
  return listening;
}
