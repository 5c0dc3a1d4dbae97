// Lossy proxy: a proxy before DynamoDB Local that can lose responses after the effect, as a network
// does. The SDK sees a server error, or nothing at all, and retries. It can also delay a response
// while another client works.

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, createServer, request as send } from "node:http";
import { buffer, text } from "node:stream/consumers";

export interface LossyProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Loses the reply to the next successful request of that action, e.g. `UpdateItem`. */
  loseNext(action: string): void;
  /** Leaves that many requests of the action unanswered, whatever the result. */
  silence(action: string, times: number): void;
  /** Runs the work between a later request, 0 for the next, and its response. */
  meanwhile(nth: number, work: () => Promise<void>): void;
  /** Loses the response to a later request, 0 for the next, whatever the result. */
  loseReply(nth: number): void;
  /** Rejects a later request that writes one item, as if the item were in a transaction. */
  conflictAt(nth: number): void;
  /** Gives a later request, if it is a transaction, another token. */
  changeToken(nth: number): void;
  /** How many replies were lost. */
  lost(): number;
  /** How many requests have arrived. */
  requests(): number;
}

const SINGLE_WRITES: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

/** Forwards a request and returns its response, over a kept connection. */
async function forward(
  target: string,
  agent: Agent,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: string },
): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    const sent = send(target, { method: "POST", agent, headers }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, body: await buffer(answer) });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** The planned faults, and the counts so far. */
interface Plan {
  losing: string | null;
  silenced: { readonly action: string; readonly times: number };
  losingAt: number;
  conflictingAt: number;
  tokenAt: number;
  between: { readonly at: number; readonly work: () => Promise<void> };
  requests: number;
  lost: number;
}

/** The response to a request, or null for none. */
async function replyTo(
  request: IncomingMessage,
  plan: Plan,
  pass: (edit: (body: string) => string) => Promise<Reply>,
): Promise<Reply | null> {
  const at = plan.requests;
  plan.requests += 1;
  const action = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
  if (at === plan.conflictingAt && SINGLE_WRITES.has(action)) {
    return fault(400, "TransactionConflictException");
  }
  const reply = await pass(at === plan.tokenAt ? withOtherToken : (body) => body);
  if (at === plan.between.at) await plan.between.work();
  const { silenced } = plan;
  if (action === silenced.action && silenced.times > 0) {
    plan.silenced = { action, times: silenced.times - 1 };
    plan.lost += 1;
    return null;
  }
  const isNext = reply.status === 200 && action === plan.losing;
  if (at !== plan.losingAt && !isNext) return reply;
  if (isNext) plan.losing = null;
  plan.lost += 1;
  return fault(500, "InternalServerError");
}

function withOtherToken(body: string): string {
  return body.replace(/(?<="ClientRequestToken":")[^"]+/, (token) =>
    token.split("").reverse().join(""),
  );
}

function fault(status: number, type: string): Reply {
  return { status, body: Buffer.from(JSON.stringify({ __type: type, message: "lost" })) };
}

export async function createLossyProxy(target: string): Promise<LossyProxy> {
  const agent = new Agent({ keepAlive: true });
  const plan: Plan = {
    losing: null,
    silenced: { action: "", times: 0 },
    losingAt: -1,
    conflictingAt: -1,
    tokenAt: -1,
    between: { at: -1, work: async () => {} },
    requests: 0,
    lost: 0,
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { headers } = request;
    const reply = await replyTo(request, plan, (edit) =>
      forward(target, agent, { headers, body: edit(body) }),
    );
    if (reply === null) return; // The connection stays open until the client or the test is over.
    response.writeHead(reply.status, { "content-type": "application/x-amz-json-1.0" });
    response.end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    loseNext(action) {
      plan.losing = action;
    },
    silence(action, times) {
      plan.silenced = { action, times };
    },
    meanwhile(nth, work) {
      plan.between = { at: plan.requests + nth, work };
    },
    loseReply(nth) {
      plan.losingAt = plan.requests + nth;
    },
    conflictAt(nth) {
      plan.conflictingAt = plan.requests + nth;
    },
    changeToken(nth) {
      plan.tokenAt = plan.requests + nth;
    },
    lost: () => plan.lost,
    requests: () => plan.requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
    },
  };
}
