// Fake DynamoDB: a table behind HTTP that supports GetItem and the two conditions of PutItem, logs
// its requests and can lose a response after the effect. Everything else is tested against DynamoDB
// Local.

import type { IncomingMessage } from "node:http";
import { createServer } from "node:http";
import { LEDGER } from "../../../src/stores/dynamodb/schema.ts";

type Json = Record<string, unknown>;
type Item = Record<string, { S?: string; N?: string }>;

export interface FakeDynamo extends AsyncDisposable {
  readonly endpoint: string;
  readonly requests: { readonly action: string; readonly body: Json }[];
  /** Applies the next write but answers it with an error that the SDK retries. */
  loseNextReply(): void;
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text) as Json;
}

export async function createFakeDynamo(): Promise<FakeDynamo> {
  const items = new Map<string, Item>([
    ["meta#ledger", { ...LEDGER.metaKey, version: { N: String(LEDGER.version) } }],
  ]);
  const requests: { action: string; body: Json }[] = [];
  let losing = false;

  function answer(action: string, body: Json): { status: number; reply: Json } {
    if (action === "GetItem") {
      const Item = items.get((body.Key as Item).pk?.S ?? "");
      return { status: 200, reply: Item === undefined ? {} : { Item } };
    }
    if (action !== "PutItem")
      return { status: 400, reply: { __type: "UnknownOperationException" } };
    const item = body.Item as Item;
    const old = items.get(item.pk?.S ?? "");
    const values = body.ExpressionAttributeValues as Item | undefined;
    const allowed = values === undefined ? old === undefined : old?.v?.N === values[":v"]?.N;
    if (!allowed) {
      const __type = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
      return { status: 400, reply: { __type, ...(old && { Item: old }) } };
    }
    items.set(item.pk?.S ?? "", item);
    return { status: 200, reply: {} };
  }

  const server = createServer(async (request, response) => {
    const action = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    const body = await bodyOf(request);
    requests.push({ action, body });
    const { status, reply } = answer(action, body);
    response.setHeader("content-type", "application/x-amz-json-1.0");
    if (losing && action === "PutItem") {
      losing = false;
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: "InternalServerError", message: "lost" }));
      return;
    }
    response.statusCode = status;
    response.end(JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    loseNextReply() {
      losing = true;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
