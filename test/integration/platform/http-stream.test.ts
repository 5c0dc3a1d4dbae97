// Streams through the listener: bodies as they arrive, replies as the client reads them.

import { expect, test } from "vitest";
import type { HttpReply } from "../../../src/ports/http/http.ts";
import { eventually } from "../../support/eventually.ts";
import { createListening } from "../../support/listening.ts";

const { serve, dial: dialUp } = createListening({ streamBytesOf: () => 1 });

/** A connection, and everything received on it. */
function dial(port: number, head: string) {
  const socket = dialUp(port);
  const received = { text: "", closed: false };
  socket.on("data", (chunk) => {
    received.text += chunk.toString("latin1");
  });
  socket.on("close", () => {
    received.closed = true;
  });
  socket.write(head);
  return { socket, received };
}

const EMPTY: HttpReply = { status: 200, headers: [], body: "" };

test("a streamed body reaches the handler before the client has sent all of it", async () => {
  const chunks: string[] = [];
  const { port } = await serve(async ({ bodyStream }) => {
    for await (const chunk of bodyStream ?? []) chunks.push(Buffer.from(chunk).toString());
    return EMPTY;
  });
  const { socket, received } = dial(
    port,
    "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\none",
  );
  await eventually(() => expect(chunks).toEqual(["one"]));
  expect(received.text).toBe("");
  socket.write("two");
  await eventually(() => expect(received.text).toContain("200 OK"));
  expect(chunks.join("")).toBe("onetwo");
});

test("a client that stalls in the middle of a stream is cut off (N2)", async () => {
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
  const { received } = dial(port, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\none");
  await eventually(() => expect(received.closed).toBe(true));
  await eventually(() => expect(failed).toBe(true));
  expect(received.text).toContain("408 Request Timeout");
});

test("the unread rest of a body is read and dropped, so that the client gets the reply", async () => {
  const { port } = await serve(async () => ({ ...EMPTY, status: 404 }));
  const body = "x".repeat(3_000_000);
  const head = `PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
  const { received } = dial(port, head + body);
  await eventually(() => expect(received.text).toContain("404 Not Found"));
});

test("a client that sends Expect: 100-continue and is refused never sends its body", async () => {
  const { port } = await serve(async () => ({ ...EMPTY, status: 404 }));
  const head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
  const { received } = dial(port, head);
  await eventually(() => expect(received.closed).toBe(true));
  expect(received.text).toMatch(/^HTTP\/1\.1 404/);
});

const CHUNK = Buffer.alloc(256 * 1_024);

/** An endless reply that counts its chunks. */
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

test("a reply stream is read no faster than the client reads, and ends when it disconnects", async () => {
  const { state, reply } = createEndless();
  const { port } = await serve(async () => reply());
  const { socket } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.pause();
  await eventually(() => expect(state.given).toBeGreaterThan(0));
  let before = -1;
  await eventually(() => {
    const still = before === state.given;
    before = state.given;
    expect(still).toBe(true);
  });
  expect(state.given * CHUNK.length).toBeLessThan(64 * 1_024 * 1_024);
  socket.destroy();
  await eventually(() => expect(state.ended).toBe(true));
});

test("a client that does not read its reply is cut off (N2)", async () => {
  const { state, reply } = createEndless();
  const { port } = await serve(async () => reply(), { stallMsMax: 30, slowCheckMs: 10 });
  const { socket } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.pause();
  await eventually(() => expect(state.ended).toBe(true));
});

test("a reply that fails midway closes the connection and is reported", async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("some");
    throw new Error("the disk is gone");
  }
  const reply = () => ({ status: 200, headers: [], body: body(), bodyBytes: 100 });
  const { port, errors } = await serve(async () => reply());
  const { received } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await eventually(() => expect(received.closed).toBe(true));
  expect(errors).toEqual([new Error("the disk is gone")]);
});

test("a reply that fails before its first byte becomes a 500", async () => {
  const next = () => Promise.reject(new Error("the file is gone"));
  const body = { [Symbol.asyncIterator]: () => ({ next }) };
  const { port, errors } = await serve(async () => {
    return { status: 200, headers: [], body, bodyBytes: 10 };
  });
  const { received } = dial(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await eventually(() => expect(received.closed).toBe(true));
  expect(received.text).toMatch(/^HTTP\/1.1 500 /);
  expect(errors).toEqual([new Error("the file is gone")]);
});

test("a HEAD has the length of the omitted body, and 204 and 304 have none", async () => {
  const statuses = [200, 204, 304];
  const { port } = await serve(async () => {
    const status = statuses.shift() ?? 500;
    return status === 200 ? { ...EMPTY, bodyBytes: 5_368_709_120 } : { ...EMPTY, status };
  });
  const head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
  const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const { received } = dial(port, head + head + last);
  await eventually(() => expect(received.closed).toBe(true));
  expect(received.text.match(/content-length: \d+/g)).toEqual(["content-length: 5368709120"]);
});
