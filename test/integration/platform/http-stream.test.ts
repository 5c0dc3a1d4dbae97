// Streams through the listener: bodies as they arrive, replies as they are taken.

import { expect, test, vi } from "vitest";
import type { HttpReply } from "../../../src/ports/http.ts";
import { createListening } from "../../support/listening.ts";

const { serve, dial: dialUp } = createListening({ wantsStream: () => true });

/** A connection, and everything that has come over it. */
function dial(port: number, head: string) {
  const socket = dialUp(port);
  const heard = { text: "", closed: false };
  socket.on("data", (chunk) => {
    heard.text += chunk.toString("latin1");
  });
  socket.on("close", () => {
    heard.closed = true;
  });
  socket.write(head);
  return { socket, heard };
}

const EMPTY: HttpReply = { status: 200, headers: [], body: "" };

test("a streamed body reaches the handler before its end has been sent", async () => {
  const chunks: string[] = [];
  const { port } = await serve(async ({ bodyStream }) => {
    for await (const chunk of bodyStream ?? []) chunks.push(Buffer.from(chunk).toString());
    return EMPTY;
  });
  const { socket, heard } = dial(port, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\none");
  await vi.waitFor(() => expect(chunks).toEqual(["one"]));
  expect(heard.text).toBe("");
  socket.write("two");
  await vi.waitFor(() => expect(heard.text).toContain("200 OK"));
  expect(chunks.join("")).toBe("onetwo");
});

test("a client that stops in the middle of a stream is cut off (N2)", async () => {
  let failed = false;
  const { port } = await serve(
    async ({ bodyStream }) => {
      try {
        for await (const _ of bodyStream ?? []);
      } catch {
        failed = true;
      }
      return EMPTY;
    },
    { stallMsMax: 30, slowCheckMs: 10 },
  );
  const { heard } = dial(port, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\none");
  await vi.waitFor(() => expect(heard.closed).toBe(true));
  await vi.waitFor(() => expect(failed).toBe(true));
  expect(heard.text).toContain("408 Request Timeout");
});

test("what the handler did not read is read and dropped, so that the reply is heard", async () => {
  const { port } = await serve(async () => ({ ...EMPTY, status: 404 }));
  const body = "x".repeat(3_000_000);
  const head = `PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
  const { heard } = dial(port, head + body);
  await vi.waitFor(() => expect(heard.text).toContain("404 Not Found"));
});

test("a client that asked first and is refused never gets to send", async () => {
  const { port } = await serve(async () => ({ ...EMPTY, status: 404 }));
  const head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
  const { heard } = dial(port, head);
  await vi.waitFor(() => expect(heard.closed).toBe(true));
  expect(heard.text).toMatch(/^HTTP\/1\.1 404/);
});

const CHUNK = Buffer.alloc(256 * 1_024);

/** A reply that goes on for ever, counting what was asked of it. */
function createEndless() {
  const state = { given: 0, ended: false };
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        state.given += 1;
        yield CHUNK;
      }
    } finally {
      state.ended = true;
    }
  }
  return { state, reply: () => ({ status: 200, headers: [], body: body(), bodyBytes: 1e12 }) };
}

test("a reply is read no faster than the client takes it, and ends when it leaves", async () => {
  const { state, reply } = createEndless();
  const { port } = await serve(async () => reply());
  const { socket } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.pause();
  await vi.waitFor(() => expect(state.given).toBeGreaterThan(0));
  let before = -1;
  await vi.waitFor(() => {
    const still = before === state.given;
    before = state.given;
    expect(still).toBe(true);
  });
  expect(state.given * CHUNK.length).toBeLessThan(64 * 1_024 * 1_024);
  socket.destroy();
  await vi.waitFor(() => expect(state.ended).toBe(true));
});

test("a client that takes nothing of a reply is cut off (N2)", async () => {
  const { state, reply } = createEndless();
  const { port } = await serve(async () => reply(), { stallMsMax: 30, slowCheckMs: 10 });
  const { socket } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.pause();
  await vi.waitFor(() => expect(state.ended).toBe(true));
});

test("a reply that fails in the middle cuts the connection, and is told of", async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("some");
    throw new Error("the disk is gone");
  }
  const reply = () => ({ status: 200, headers: [], body: body(), bodyBytes: 100 });
  const { port, errors } = await serve(async () => reply());
  const { heard } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await vi.waitFor(() => expect(heard.closed).toBe(true));
  expect(errors).toEqual([new Error("the disk is gone")]);
});

test("a reply that fails before its first byte is answered as the failure it is", async () => {
  const next = () => Promise.reject(new Error("the file is gone"));
  const body = { [Symbol.asyncIterator]: () => ({ next }) };
  const { port, errors } = await serve(async () => {
    return { status: 200, headers: [], body, bodyBytes: 10 };
  });
  const { heard } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await vi.waitFor(() => expect(heard.closed).toBe(true));
  expect(heard.text).toMatch(/^HTTP\/1.1 500 /);
  expect(errors).toEqual([new Error("the file is gone")]);
});

test("a HEAD tells the length of what it leaves out, and 204 and 304 tell none", async () => {
  const statuses = [200, 204, 304];
  const { port } = await serve(async () => {
    const status = statuses.shift() ?? 500;
    return status === 200 ? { ...EMPTY, bodyBytes: 5_368_709_120 } : { ...EMPTY, status };
  });
  const head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
  const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const { heard } = dial(port, head + head + last);
  await vi.waitFor(() => expect(heard.closed).toBe(true));
  expect(heard.text.match(/content-length: \d+/g)).toEqual(["content-length: 5368709120"]);
});
