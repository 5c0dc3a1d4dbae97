// Foreign proxy: forwards every request to a server.
//   P1. It can hold back the requests of one SQS action. A process that is killed meanwhile has
//       done everything before that request, and not it.
//   P2. It can forward one request at a time, for a server that is not safe with several.

import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

export interface ForeignProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Holds the requests of an action, such as DeleteMessageBatch (P1). */
  hold(action: string): void;
  /** Forwards all later requests; those held so far are never answered. */
  release(): void;
}

export async function createForeignProxy(
  target: string,
  { oneAtATime = false }: { readonly oneAtATime?: boolean } = {},
): Promise<ForeignProxy> {
  let held: string | null = null;
  let previous = Promise.resolve();
  const isHeld = ({ headers }: IncomingMessage) =>
    held !== null && headers["x-amz-target"] === `AmazonSQS.${held}`;
  const server = createServer((request, response) => {
    if (isHeld(request)) return; // P1
    const turn = oneAtATime ? previous : Promise.resolve(); // P2
    previous = turn
      .then(() => forward(target, request, response))
      .catch(() => {
        response.destroy();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(action) {
      held = action;
    },
    release() {
      held = null;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Resolves when the response has been sent; rejects if either side failed. */
async function forward(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (response.destroyed) return; // The client no longer waits for it.
  const { method, headers, url = "/" } = request;
  const forwarded = send(new URL(url, target), { method, headers });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    forwarded.once("response", resolve).once("error", reject);
  });
  await pipeline(request, forwarded);
  const answer = await answered;
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}
