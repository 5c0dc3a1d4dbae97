import { verify, X509Certificate } from "node:crypto";
import https from "node:https";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { ConfirmSubscriptionCommand, SubscribeCommand } from "@aws-sdk/client-sns";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRsaSigner } from "../../../src/platform/certificate/rsa-signer.ts";
import {
  openEndpoint,
  openSnsServer,
  type SnsServer,
  TOPIC_PREFIX,
} from "../../support/sns-server.ts";

// AWS's own validator for Node, which has no types.
type Validate = (message: object, done: (error: Error | null) => void) => void;
const require = createRequire(import.meta.url);
const MessageValidator = require("sns-validator") as new (
  hostPattern: RegExp,
) => { validate: Validate };

type Body = Record<string, string>;

let server: SnsServer;
beforeAll(async () => {
  server = await openSnsServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/**
 * The validator only fetches certificates by https, as AWS serves them. So an https server on this
 * machine forwards to the cloud, and notifications are published under its name.
 */
async function openFront() {
  const identity = await createRsaSigner().createIdentity();
  const { certificatePem: cert, privateKeyPem: key } = identity;
  const httpsServer = https.createServer({ cert, key }, async (request, response) => {
    const reply = await fetch(server.cloud.endpoint + request.url);
    response.writeHead(reply.status).end(await reply.text());
  });
  await new Promise<void>((resolve) => httpsServer.listen(0, "127.0.0.1", resolve));
  const { port } = httpsServer.address() as AddressInfo;
  const { options } = https.globalAgent;
  const before = { ...options };
  Object.assign(options, { ca: [cert], checkServerIdentity: () => undefined });
  return {
    host: `localhost:${port}`,
    async [Symbol.asyncDispose]() {
      Object.assign(options, { ca: before.ca, checkServerIdentity: before.checkServerIdentity });
      httpsServer.closeAllConnections();
      await new Promise((resolve) => httpsServer.close(resolve));
    },
  };
}

function validate(message: object): Promise<Error | null> {
  const validator = new MessageValidator(/^localhost:\d+$/);
  return new Promise((resolve) => validator.validate({ ...message }, resolve));
}

async function publishVia(host: string, topic: string, parameters: Body): Promise<void> {
  const form = { Action: "Publish", Version: "2010-03-31", TopicArn: topic, ...parameters };
  const url = new URL(server.cloud.endpoint);
  // Links begin with the host that the caller used.
  const reply = await new Promise<number>((resolve, reject) => {
    const headers = {
      host,
      "x-forwarded-proto": "https",
      "content-type": "application/x-www-form-urlencoded",
    };
    const { request } = require("node:http") as typeof import("node:http");
    const { hostname, port } = url;
    request({ hostname, port, method: "POST", headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode as number));
    })
      .on("error", reject)
      .end(new URLSearchParams(form).toString());
  });
  expect(reply).toBe(200);
}

async function receive(queue: string): Promise<Body> {
  const [message] = await server.drain(queue);
  return JSON.parse(message?.Body as string) as Body;
}

test.each(["1", "2"])(
  "[106] sns-validator accepts signatures of version %s and rejects changed messages",
  async (SignatureVersion) => {
    await using front = await openFront();
    const topic = await server.topic(`signed${SignatureVersion}`, { SignatureVersion });
    const queue = await server.queue(`signed${SignatureVersion}`);
    await server.subscribe(topic, queue);
    await publishVia(front.host, topic, { Message: 'zwölf "Boxkämpfer"\r\n', Subject: "S" });
    const notification = await receive(queue);
    expect(notification).toMatchObject({ SignatureVersion });
    expect(await validate(notification)).toBeNull();
    for (const key of ["Message", "Subject", "Timestamp", "TopicArn", "MessageId"]) {
      const forged = { ...notification, [key]: `${notification[key]}x` };
      expect(await validate(forged)).toBeInstanceOf(Error);
    }
    await publishVia(front.host, topic, { Message: "without a subject" });
    expect(await validate(await receive(queue))).toBeNull();
  },
);

test("[106] the served certificate verifies the signatures", async () => {
  const topic = await server.topic("plain");
  const queue = await server.queue("plain");
  await server.subscribe(topic, queue);
  const id = await server.publish(topic, { Message: "hello" });
  const body = await receive(queue);
  const reply = await fetch(body.SigningCertURL as string);
  expect(reply.headers.get("content-type")).toBe("application/x-pem-file");
  const certificate = new X509Certificate(await reply.text());
  const text =
    `Message\nhello\nMessageId\n${id}\nTimestamp\n${body.Timestamp}\n` +
    `TopicArn\n${topic}\nType\nNotification\n`;
  const signature = Buffer.from(body.Signature as string, "base64");
  expect(verify("sha1", Buffer.from(text), certificate.publicKey, signature)).toBe(true);
  const other = body.SigningCertURL?.replace(/-[0-9a-f]+\.pem/, "-00.pem") as string;
  expect((await fetch(other)).status).toBe(404);
});

test("[106] the confirmation request is signed over its own fields", async () => {
  await using endpoint = await openEndpoint();
  const TopicArn = await server.topic("confirming");
  const http = { Protocol: "http", Endpoint: endpoint.url };
  await server.sns.send(new SubscribeCommand({ TopicArn, ...http }));
  await server.cloud.clock.advance(0);
  const body = JSON.parse(endpoint.requests[0]?.body as string) as Body;
  const keys = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = keys.map((key) => `${key}\n${body[key]}\n`).join("");
  const certificate = new X509Certificate(
    await (await fetch(body.SigningCertURL as string)).text(),
  );
  const signature = Buffer.from(body.Signature as string, "base64");
  expect(verify("sha1", Buffer.from(text), certificate.publicKey, signature)).toBe(true);
  const { Token } = body;
  await server.sns.send(
    new ConfirmSubscriptionCommand({ TopicArn: `${TOPIC_PREFIX}confirming`, Token }),
  );
});
