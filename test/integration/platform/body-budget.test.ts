// Budgets of the listener: bodies and long replies of all connections together.

import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { HttpListenerOptions } from "../../../src/platform/http/http-listener.ts";
import { ReplyBuffer } from "../../../src/platform/http/reply-buffer.ts";
import type { HttpHandler } from "../../../src/ports/http/http.ts";
import { eventually } from "../../support/eventually.ts";
import { createListening, HOST } from "../../support/listening.ts";

const BODY_BYTES = 20_000;
const SMALL_BYTES = 8_000;

/** One body at a time. */
const { serve, dial } = createListening({ bodiesBytesMax: BODY_BYTES, slowCheckMs: 50 });

const PATHS: readonly { readonly path: string; readonly options: Partial<HttpListenerOptions> }[] =
  [
    { path: "on the slow path (node:http)", options: {} },
    { path: "on the fast path", options: { answersText: () => true } },
    { path: "as a stream", options: { streamBytesOf: () => BODY_BYTES } },
  ];

const echoLength: HttpHandler = async ({ body, bodyStream }) => {
  let bytes = body.length;
  for await (const chunk of bodyStream ?? []) bytes += chunk.length;
  return { status: 200, headers: [], body: `got ${bytes}` };
};

function head(bytes: number): string {
  return `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${bytes}\r\n\r\n`;
}

function send(socket: Socket, bytes: number, sentBytes = bytes): Promise<string> {
  socket.write(head(bytes) + "a".repeat(sentBytes));
  return replyTo(socket);
}

async function replyTo(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return chunk.toString();
}

describe.each(PATHS)("$path", ({ options }) => {
  test("a body waits for the one before it, and a small request does not", async () => {
    const { port } = await serve(echoLength, options);
    const first = dial(port);
    const unfinished = send(first, BODY_BYTES, BODY_BYTES - 1);
    await once(first, "connect");
    const second = dial(port);
    const waiting = send(second, BODY_BYTES);
    expect(await send(dial(port), SMALL_BYTES)).toContain(`got ${SMALL_BYTES}`);
    first.write("a");
    expect(await unfinished).toContain(`got ${BODY_BYTES}`);
    expect(await waiting).toContain(`got ${BODY_BYTES}`);
  });

  test("a body that stops in the middle is cut off while another one waits", async () => {
    const { port } = await serve(echoLength, options);
    const first = dial(port);
    const unfinished = send(first, BODY_BYTES, BODY_BYTES - 1);
    await once(first, "connect");
    expect(await send(dial(port), BODY_BYTES)).toContain(`got ${BODY_BYTES}`);
    expect(await unfinished).toMatch(/^HTTP\/1.1 408/);
  });

  test("a client that disconnects while it waits, or in its body, frees the budget", async () => {
    const { port } = await serve(echoLength, options);
    const first = dial(port);
    first.write(head(BODY_BYTES));
    await once(first, "connect");
    const second = dial(port);
    second.write(head(BODY_BYTES));
    await once(second, "connect");
    second.destroy();
    first.destroy();
    expect(await send(dial(port), BODY_BYTES)).toContain(`got ${BODY_BYTES}`);
  });

  test("a body counts until its request is answered", async () => {
    const releases: (() => void)[] = [];
    const handler: HttpHandler = async (request) => {
      const { body } = await echoLength(request);
      await new Promise<void>((resolve) => releases.push(resolve));
      return { status: 200, headers: [], body };
    };
    const { port } = await serve(handler, options);
    const one = send(dial(port), BODY_BYTES);
    await eventually(() => expect(releases).toHaveLength(1));
    const two = send(dial(port), BODY_BYTES);
    const small = send(dial(port), SMALL_BYTES);
    await eventually(() => expect(releases).toHaveLength(2)); // The small one.
    for (const release of releases.splice(0)) release();
    await Promise.all([one, small]);
    await eventually(() => expect(releases).toHaveLength(1));
    releases[0]?.();
    expect(await two).toContain(`got ${BODY_BYTES}`);
  });

  test("too many waiting bodies get 503 with a sentence", async () => {
    const { port } = await serve(echoLength, options);
    const holder = dial(port);
    holder.write(head(BODY_BYTES));
    await once(holder, "connect");
    const statuses: string[] = [];
    for (let count = 0; count < 300; count += 1) {
      const socket = dial(port);
      socket.on("data", (chunk) => statuses.push(chunk.toString()));
      socket.write(head(BODY_BYTES));
    }
    await eventually(() => {
      const busy = statuses.filter((text) => text.startsWith("HTTP/1.1 503"));
      expect(busy.length).toBeGreaterThan(0);
      expect(busy[0]).toContain("Retry the request");
    });
  });
});

describe.each(PATHS.slice(0, 2))("$path", ({ options }) => {
  test("a client that does not read is cut off only while others wait for its memory", async () => {
    const replies = new ReplyBuffer(1_000_000);
    const body = "a".repeat(16_000_000);
    const handler: HttpHandler = async () => ({ status: 200, headers: [], body });
    const { port } = await serve(handler, { ...options, replies });
    const room = new Promise<void>((resolve) => {
      replies.onSpace = resolve;
    });
    const deaf = dial(port);
    deaf.pause();
    deaf.write(head(0));
    await room; // The reply filled the buffer, so the client had to leave.
    expect(replies.isFull).toBe(false);
  });

  test("the buffer of replies is empty again when the client has read its reply", async () => {
    const replies = new ReplyBuffer(1);
    const handler: HttpHandler = async () => ({
      status: 200,
      headers: [],
      body: "a".repeat(1_000_000),
    });
    const { url } = await serve(handler, { ...options, replies });
    const reply = await fetch(url, { method: "POST" });
    expect(await reply.text()).toHaveLength(1_000_000);
    await eventually(() => expect(replies.isFull).toBe(false));
  });
});
