// Request gate: holds requests until it is opened; then it passes them straight through.

import type { HttpHandler } from "../ports/http/http.ts";

export interface RequestGate {
  readonly handler: HttpHandler;
  open(): void;
}

export function createGate(handler: HttpHandler): RequestGate {
  const { promise: opened, resolve: release } = Promise.withResolvers<void>();
  let current: HttpHandler = async (request) => {
    await opened;
    return handler(request);
  };
  return {
    handler: (request) => current(request),
    open() {
      current = handler;
      release();
    },
  };
}
