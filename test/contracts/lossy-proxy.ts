// A proxy before DynamoDB Local that can lose replies after the effect, as a network does: the SDK
// sees a server's error, or nothing at all, and asks again. It can hold one back, too, while
// somebody else is at work.

import { createServer } from "node:http";

export interface LossyProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Loses the reply to the next successful request of that action, e.g. `UpdateItem`. */
  loseNext(action: string): void;
  /** Leaves that many requests of the action without an answer, whatever it was. */
  silence(action: string, times: number): void;
  /** Has the work done between a request from now on, 0 for the next, and its reply. */
  meanwhile(nth: number, work: () => Promise<void>): void;
  /** How many replies were lost. */
  lost(): number;
}

export async function createLossyProxy(target: string): Promise<LossyProxy> {
  let losing: string | null = null;
  let silenced = { action: "", times: 0 };
  let lost = 0;
  let between = { requests: -1, work: async () => {} };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = new Headers();
    for (const name of ["x-amz-target", "x-amz-date", "authorization", "content-type"]) {
      headers.set(name, String(request.headers[name]));
    }
    const answer = await fetch(target, { method: "POST", headers, body: Buffer.concat(chunks) });
    const body = Buffer.from(await answer.arrayBuffer());
    response.setHeader("content-type", "application/x-amz-json-1.0");
    const action = String(request.headers["x-amz-target"]).split(".")[1];
    if (between.requests-- === 0) await between.work();
    if (action === silenced.action && silenced.times > 0) {
      silenced.times -= 1;
      lost += 1;
      return; // The connection stays open until the client or the test is over.
    }
    if (answer.ok && action === losing) {
      losing = null;
      lost += 1;
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: "InternalServerError", message: "lost" }));
      return;
    }
    response.statusCode = answer.status;
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    loseNext(action) {
      losing = action;
    },
    silence(action, times) {
      silenced = { action, times };
    },
    meanwhile(nth, work) {
      between = { requests: nth, work };
    },
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
