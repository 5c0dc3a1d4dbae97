// A proxy before DynamoDB Local that can lose replies after the effect, as a network does: the SDK
// sees a server's error, or nothing at all, and asks again. It can hold one back, too, while
// somebody else is at work.

import { Agent, createServer, type IncomingHttpHeaders, request as send } from "node:http";
import { buffer } from "node:stream/consumers";

export interface LossyProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Loses the reply to the next successful request of that action, e.g. `UpdateItem`. */
  loseNext(action: string): void;
  /** Leaves that many requests of the action without an answer, whatever it was. */
  silence(action: string, times: number): void;
  /** Has the work done between a request from now on, 0 for the next, and its reply. */
  meanwhile(nth: number, work: () => Promise<void>): void;
  /** Loses the reply to a request from now on, 0 for the next, whatever it was. */
  loseReply(nth: number): void;
  /** Answers a write from now on, if of a single item, as if a transaction were about to change it. */
  conflictAt(nth: number): void;
  /** How many replies were lost. */
  lost(): number;
  /** How many requests have come. */
  requests(): number;
}

const SINGLE_WRITES: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

/** Sends a request on and brings its answer, over a connection that is kept. */
async function forward(
  target: string,
  agent: Agent,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
): Promise<{ readonly status: number; readonly body: Buffer }> {
  return await new Promise((resolve, reject) => {
    const sent = send(target, { method: "POST", agent, headers }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, body: await buffer(answer) });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

export async function createLossyProxy(target: string): Promise<LossyProxy> {
  const agent = new Agent({ keepAlive: true });
  let losing: string | null = null;
  let silenced = { action: "", times: 0 };
  let lost = 0;
  let requests = 0;
  let losingAt = -1;
  let conflictingAt = -1;
  let between = { at: -1, work: async () => {} };
  const server = createServer(async (request, response) => {
    const at = requests++;
    const action = String(request.headers["x-amz-target"]).split(".")[1];
    response.setHeader("content-type", "application/x-amz-json-1.0");
    if (at === conflictingAt && SINGLE_WRITES.has(action ?? "")) {
      response.statusCode = 400;
      response.end(JSON.stringify({ __type: "TransactionConflictException", message: "met" }));
      return;
    }
    const { status, body } = await forward(target, agent, {
      headers: request.headers,
      body: await buffer(request),
    });
    if (at === between.at) await between.work();
    if (action === silenced.action && silenced.times > 0) {
      silenced.times -= 1;
      lost += 1;
      return; // The connection stays open until the client or the test is over.
    }
    if (at === losingAt || (status === 200 && action === losing)) {
      if (at !== losingAt) losing = null;
      lost += 1;
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: "InternalServerError", message: "lost" }));
      return;
    }
    response.statusCode = status;
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
      between = { at: requests + nth, work };
    },
    loseReply(nth) {
      losingAt = requests + nth;
    },
    conflictAt(nth) {
      conflictingAt = requests + nth;
    },
    lost: () => lost,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
    },
  };
}
