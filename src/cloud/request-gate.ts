// Request gate: holds requests back until it is opened, and is not in their way any more then.

import type { HttpHandler } from "../ports/http.ts";

export interface RequestGate {
  readonly handler: HttpHandler;
  open(): void;
}

export function createGate(handler: HttpHandler): RequestGate {
  const { promise: opened, resolve: letIn } = Promise.withResolvers<void>();
  let current: HttpHandler = async (request) => {
    await opened;
    return handler(request);
  };
  return {
    handler: (request) => current(request),
    open() {
      current = handler;
      letIn();
    },
  };
}
