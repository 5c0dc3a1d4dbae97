// Compares the error table with errors that the installed drivers really throw. Names and codes
// from memory, or from another version, would match nothing.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { classify } from "../../../src/ingest/policy/error-class.ts";

async function verdictOn(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    const { errorClass, retry, blames } = classify(error);
    return `${errorClass} ${retry} ${blames}`;
  }
  throw new Error("nothing was thrown");
}

/** A port that no server listens on any more. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("refused connections are network errors, from fetch and from pg", async () => {
  const port = await deadPort();
  const client = new pg.Client({ host: "127.0.0.1", port });
  expect(await verdictOn(() => fetch(`http://127.0.0.1:${port}/`))).toBe("network backoff sink");
  expect(await verdictOn(() => client.connect())).toBe("network backoff sink");
});

test("an aborted request is a timeout", async () => {
  const signal = AbortSignal.abort();
  expect(await verdictOn(() => fetch("http://127.0.0.1/", { signal }))).toBe(
    "timeout backoff record",
  );
});

test("errors of Node's SQLite distinguish an invalid row from a full file", async () => {
  using db = new DatabaseSync(":memory:");
  db.exec("create table t (a integer primary key, b text); insert into t values (1, '')");
  const run = (sql: string) => verdictOn(() => db.exec(sql));
  expect(await run("insert into t values (1, '')")).toBe("sqlite never record");
  expect(await run("insert into missing values (1)")).toBe("sqlite never record");
  db.exec("pragma max_page_count = 2");
  expect(await run("insert into t values (2, hex(zeroblob(100000)))")).toBe(
    "sink-full backoff sink",
  );
});

describe("errors of the AWS SDK", () => {
  let status = 200;
  let body = {};
  const server = createServer((_, reply) => {
    if (status === 0) return reply.destroy();
    reply.writeHead(status, { "content-type": "application/x-amz-json-1.0" });
    return reply.end(JSON.stringify(body));
  });
  let client: DynamoDBClient;

  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    client = new DynamoDBClient({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: "us-east-1",
      maxAttempts: 1,
      credentials: { accessKeyId: "any", secretAccessKey: "any" },
    });
  });
  afterAll(() => {
    client.destroy();
    server.close();
  });

  const type = (name: string, more = {}) => ({ __type: `com.amazonaws.any#${name}`, ...more });
  const reasons = (...codes: string[]) =>
    type("TransactionCanceledException", { CancellationReasons: codes.map((Code) => ({ Code })) });

  test.each([
    [0, {}, "network backoff sink"],
    [503, {}, "server backoff sink"],
    [500, type("InternalServerError"), "server backoff sink"],
    [400, type("ProvisionedThroughputExceededException"), "throttling backoff sink"],
    [400, type("ThrottlingException"), "throttling backoff sink"],
    [400, type("AccessDeniedException"), "permission never sink"],
    [400, type("ValidationException"), "dynamodb never record"],
    [400, type("ConditionalCheckFailedException"), "dynamodb never record"],
    [400, reasons("None", "TransactionConflict"), "dynamodb backoff record"],
    [400, reasons("None", "ConditionalCheckFailed"), "dynamodb never record"],
    [400, reasons("ThrottlingError"), "throttling backoff sink"],
  ])("a response of %s %o is classified as %s", async (code, content, expected) => {
    [status, body] = [code, content];
    const request = new GetItemCommand({ TableName: "any", Key: { id: { S: "1" } } });
    expect(await verdictOn(() => client.send(request))).toBe(expected);
  });
});
