// A wrong server must fail a run, or it could look fast. Each of these servers has one error.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { drainAll } from "../../bench/broker/drain.ts";
import { sendAll } from "../../bench/broker/load.ts";
import { openConnection, type RawConnection } from "../../bench/broker/raw-connection.ts";

const BODY_BYTES = 20;
const MESSAGES = 60;

type Flaw = "none" | "wrong md5" | "error" | "part of a batch" | "twice" | "stranger" | "no delete";

interface Entry {
  readonly Id?: string;
  readonly MessageBody: string;
}

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const thing of open.splice(0)) thing.close();
});

function answer(flaw: Flaw, action: string, input: Record<string, unknown>, held: string[]) {
  if (flaw === "error" && held.length > 20) return null;
  const sent = ({ Id, MessageBody }: Entry) => {
    held.push(MessageBody);
    const text = flaw === "wrong md5" ? "other" : MessageBody;
    const md5 = createHash("md5").update(text).digest("hex");
    return { Id, MessageId: "id", MD5OfMessageBody: md5 };
  };
  if (action === "SendMessage") return sent(input as unknown as Entry);
  if (action === "SendMessageBatch") {
    const Successful = (input.Entries as Entry[]).map(sent);
    return { Successful: flaw === "part of a batch" ? Successful.slice(1) : Successful };
  }
  if (action === "ReceiveMessage") {
    const bodies = flaw === "twice" ? held.slice(0, 10) : held.splice(0, 10);
    if (flaw === "stranger") bodies[0] = "9999999999";
    return { Messages: bodies.map((Body) => ({ Body, ReceiptHandle: Body })) };
  }
  return flaw === "no delete" ? { Failed: [{ Id: "0" }] } : {};
}

async function start(flaw: Flaw) {
  const held: string[] = [];
  const server: Server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const action = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    const output = answer(flaw, action, JSON.parse(text) as Record<string, unknown>, held);
    if (output === null) response.statusCode = 500;
    response.end(JSON.stringify(output));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connections: RawConnection[] = [await openConnection(port), await openConnection(port)];
  open.push(...connections, server);
  return { connections, target: { port, queueUrl: "q", fifo: false }, held };
}

async function sendAndDrain(flaw: Flaw, perRequest: number): Promise<string[]> {
  const { connections, target, held } = await start(flaw);
  const size = { bodyBytes: BODY_BYTES, groups: 1, messagesMax: MESSAGES, msMax: 60_000 };
  await sendAll(connections, { target, perRequest, ...size, firstIndex: 0 });
  const sent = [...held];
  await drainAll(connections, { target, firstIndex: 0, count: MESSAGES });
  return sent;
}

test.each([1, 10])(
  "each message is sent once with a body of its own (%i per request)",
  async (n) => {
    const sent = await sendAndDrain("none", n);
    expect(new Set(sent).size).toBe(MESSAGES);
    expect(sent.every((body) => body.length === BODY_BYTES)).toBe(true);
  },
);

test.each([
  ["wrong md5", /wrong MD5/],
  ["error", /500/],
  ["part of a batch", /9 of the batch/],
  ["twice", /received twice/],
  ["stranger", /was not sent/],
  ["no delete", /delete: 200/],
] as const)("a server with this flaw fails the run: %s", async (flaw, expected) => {
  await expect(sendAndDrain(flaw, 10)).rejects.toThrow(expected);
});
