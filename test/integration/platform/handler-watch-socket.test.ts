import { createConnection } from "node:net";
import { expect, test } from "vitest";
import {
  type HandlerWorld,
  installHandlerWatch,
  SocketRefused,
  watchHandler,
} from "../../../src/platform/handler-watch.ts";

test("a watched handler's sockets are refused (W2 of handler-watch.ts)", async () => {
  const used: string[] = [];
  const world: HandlerWorld = {
    now: () => 0,
    fraction: () => 0,
    sleep: async () => {},
    fetch: async () => new Response(),
    used: (use, call) => void used.push(`${use}: ${call}`),
  };
  const uninstall = installHandlerWatch();
  try {
    const opening = watchHandler(world, async () => createConnection(9, "127.0.0.1"));
    await expect(opening).rejects.toBeInstanceOf(SocketRefused);
  } finally {
    uninstall();
  }
  expect(used).toEqual(["socket: a socket"]);
});
