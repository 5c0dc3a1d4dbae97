// Listening: HTTP listeners on loopback and sockets to them, all closed after each test.

import { connect, type Socket } from "node:net";
import { afterEach } from "vitest";
import {
  createHttpListener,
  type HttpListener,
  type HttpListenerOptions,
} from "../../src/platform/http/http-listener.ts";
import type { HttpHandler } from "../../src/ports/http/http.ts";

export const HOST = "127.0.0.1";

/** Returns functions that start listeners with these options and connect to them. */
export function createListening(defaults: Partial<HttpListenerOptions>) {
  const opened: HttpListener[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const listener of opened.splice(0)) await listener.close();
  });
  return {
    async serve(handler: HttpHandler, options: Partial<HttpListenerOptions> = {}) {
      const errors: unknown[] = [];
      const onError = (error: unknown) => errors.push(error);
      const listener = createHttpListener(handler, { onError, ...defaults, ...options });
      opened.push(listener);
      const port = await listener.listen(0, HOST);
      return { listener, errors, port, url: `http://${HOST}:${port}` };
    },
    /** A socket whose errors do not fail the test. */
    dial(port: number): Socket {
      const socket = connect({ port, host: HOST, noDelay: true });
      sockets.push(socket);
      socket.on("error", () => {});
      return socket;
    },
  };
}
