import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createConsumerClient } from "../../../src/aws/sqs/consumer-client.ts";
import { createSqsQueue } from "../../../src/aws/sqs/sqs-queue.ts";
import { md5Hex } from "../../../src/core/encoding/hash.ts";
import { seconds } from "../../../src/core/units.ts";

const BODY = '{"station":"Åre"}';
let server: Server;

afterEach(() => new Promise((resolve) => server.close(resolve)));

/** What a queue receives from a server that sends one message with this MD5. */
async function receiveWith(md5: string) {
  const message = { MessageId: "m", ReceiptHandle: "r", Body: BODY, MD5OfBody: md5 };
  server = createServer((_, response) => {
    response.setHeader("content-type", "application/x-amz-json-1.0");
    response.end(JSON.stringify({ Messages: [message] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = createConsumerClient({ endpoint, region: "us-east-1", credentials });
  const queue = createSqsQueue({ client, queueUrl: `${endpoint}/000000000000/orders` });
  const request = { max: 1, waitMs: seconds(0), visibilityMs: seconds(30) };
  return queue.receive(request, new AbortController().signal).finally(() => client.destroy());
}

test("a body with the MD5 that the queue sent is received", async () => {
  expect(await receiveWith(md5Hex(BODY))).toMatchObject([{ messageId: "m", body: BODY }]);
});

test("a body that differs from its MD5 is rejected", async () => {
  await expect(receiveWith(md5Hex(`${BODY} `))).rejects.toThrow("Invalid MD5 checksum");
});
