// DynamoDB: how many writes a message costs the ledger with fast handlers, counted between the
// ledger's client and DynamoDB Local.
//   W1. Every write request counts, the SDK's own retries included; a transaction counts twice per
//       item, as AWS bills it.

import { createServer, type IncomingMessage, request as openRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { startDynamoLocal } from "../../scripts/dynamodb-local.ts";
import { openEmbedded } from "./embedded-cloud.ts";
import type { IngestOptions } from "./options.ts";

export type DynamoResults =
  | { readonly missing: string }
  | {
      readonly messages: number;
      readonly writesPerMessage: number;
      readonly requests: Readonly<Record<string, number>>;
    };

const SINGLE_WRITES: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

interface Counter {
  readonly endpoint: string;
  readonly requests: Record<string, number>;
  writes: number;
  close(): void;
}

function actionOf(asked: IncomingMessage): string {
  return String(asked.headers["x-amz-target"]).split(".").at(-1) ?? "";
}

/** Write units of one request (W1). */
export function writesOf(action: string, body: string): number {
  if (SINGLE_WRITES.has(action)) return 1;
  const input = /WriteItem/.test(action) ? (JSON.parse(body) as Record<string, object>) : {};
  if (action === "TransactWriteItems") return 2 * Object.values(input.TransactItems ?? []).length;
  if (action !== "BatchWriteItem") return 0;
  return Object.values(input.RequestItems ?? {}).reduce((sum, { length }) => sum + length, 0);
}

/** A proxy between client and server that counts writes. */
async function startCounter(behind: string): Promise<Counter> {
  const { hostname, port } = new URL(behind);
  const server = createServer(async (asked, answer) => {
    const body = await buffer(asked);
    const action = actionOf(asked);
    counter.requests[action] = (counter.requests[action] ?? 0) + 1;
    counter.writes += writesOf(action, body.toString("utf8"));
    const { method, url: path, headers } = asked;
    const passed = openRequest({ hostname, port, method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    passed.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const counter: Counter = { endpoint, requests: {}, writes: 0, close };
  return counter;
}

export async function runDynamo(options: IngestOptions, folder: string): Promise<DynamoResults> {
  const local = await startDynamoLocal();
  if ("missing" in local) return local;
  const counter = await startCounter(local.endpoint);
  try {
    const ledger = `dynamodb://bench-ingest?region=us-east-1&endpoint=${counter.endpoint}`;
    const { concurrency, dynamoMessages: messages } = options;
    const embedded = await openEmbedded({ workload: "receipt", concurrency, folder, ledger });
    await embedded.fill(messages);
    counter.writes = 0;
    for (const action of Object.keys(counter.requests)) delete counter.requests[action];
    await embedded.round(messages);
    const { writes } = counter;
    const requests = { ...counter.requests };
    await embedded.close();
    if (embedded.handled() !== messages) throw new Error(`${embedded.handled()} were handled`);
    return { messages, writesPerMessage: writes / messages, requests };
  } finally {
    counter.close();
    local.stop();
  }
}
