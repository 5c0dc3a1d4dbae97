// Free port: one for a server that is started later, or started again, and so cannot ask for any.
// It lies below those that systems give to whoever asks for any, connections included: one of
// these might be gone again by the time the server wants it.

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
  throw new Error(`none of ${TRIES_MAX} ports from ${FIRST} on is free`);
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
