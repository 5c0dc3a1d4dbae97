// The fast path compared with node:http: the same bytes, split anywhere, must get the same replies.

import { once } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { HttpHandler, HttpRequest } from "../../../src/ports/http/http.ts";
import { createListening, HOST } from "../../support/listening.ts";

const BODY_BYTES_MAX = 200_000;
const { serve, dial: dialUp } = createListening({
  bodyBytesMax: BODY_BYTES_MAX,
  answersText: () => true,
});

/** Returns everything it received; a target of /refused gets a 400. */
const echo: HttpHandler = async ({ method, path, query, headers, body, bodyTooLarge }) => ({
  status: path === "/refused" ? 400 : 200,
  headers: ["x-own", "yes"],
  body: JSON.stringify([
    [method, path, query, bodyTooLarge],
    Object.entries(headers).sort(),
    Buffer.from(body).toString("latin1"),
  ]),
});

/** Sends the pieces, if possible each as its own packet, and collects the replies. */
async function repliesTo(port: number, pieces: readonly string[]) {
  const socket = await dial(port);
  const received = { text: "", reset: false };
  socket.on("data", (chunk) => {
    received.text += chunk.toString("latin1");
  });
  socket.on("error", () => {
    received.reset = true;
  });
  const closed = closeOf(socket);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece, "latin1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  await closed;
  received.text = received.text.replace(/Date: [^\r]*/g, "Date: now");
  return received;
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

async function dial(port: number): Promise<Socket> {
  const socket = dialUp(port);
  await once(socket, "connect");
  return socket;
}

function postOf(body: string, ...headers: readonly string[]): string {
  const lines = ["POST / HTTP/1.1", "Host: a", `Content-Length: ${body.length}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Holds every request until the test answers it, in order of arrival. */
function createHolder() {
  const held: { request: HttpRequest; answer: (body: string) => void }[] = [];
  const handler: HttpHandler = (request) =>
    new Promise((resolve) => {
      held.push({ request, answer: (body) => resolve({ status: 200, headers: [], body }) });
    });
  return { held, handler };
}

const target = fc.constantFrom("/", "/q?a=b", "/refused", "/%C3%A9", "*", "/\xe9", "/a b", "/a#b");
const line = fc.constantFrom(
  "X-A: b",
  "X-A: c",
  "x-b:\t d \t",
  "X-Empty:",
  "X-Latin: \xe9\xa0",
  "Connection: keep-alive",
  "Connection: close",
  "Expect: 100-continue",
  "Transfer-Encoding: chunked",
  "Content-Length: 3",
  "Content-Length: x",
  "Host: other",
  " folded",
  "No colon",
  "Space : x",
  "X-Nul: \x00",
  "Upgrade: h2c",
);
const request = fc
  .record({
    method: fc.constantFrom("POST", "POST", "POST", "GET", "PUT", "post"),
    target,
    version: fc.constantFrom("1.1", "1.1", "1.1", "1.1", "1.0", "2.0"),
    odd: fc.array(line, { maxLength: 2 }),
    body: fc.constantFrom("", "abc", '{"a":"\xc3\xa9"}', "x".repeat(70_000)),
    lengthOff: fc.constantFrom(0, 0, 0, 0, 1, -1),
    lineEnd: fc.constantFrom("\r\n", "\r\n", "\r\n", "\r\n", "\n"),
  })
  .map(({ method, target: to, version, odd, body, lengthOff, lineEnd }) => {
    const length = Math.max(0, body.length + lengthOff);
    const lines = [`${method} ${to} HTTP/${version}`, "Host: a", `Content-Length: ${length}`];
    return [...lines, ...odd, "", body].join(lineEnd);
  });
const LAST = postOf("", "Connection: close");

/** Splits a stream of replies. */
function splitReplies(text: string): string[] {
  return text.split(/(?=HTTP\/1\.1 )/).filter((answer) => answer !== "");
}

const TWO_HOSTS = "the request has two Host headers";

/**
 * node:http refuses a broken request immediately and drops unanswered requests before it, depending
 * on timing; the fast path answers them. One of them may be a request with two Host headers, which
 * is refused as well. There is no other difference.
 */
function expectSame(fast: string[], slow: string[]): void {
  const refused = slow.at(-1)?.startsWith("HTTP/1.1 400 ") === true;
  if (!refused) {
    expect(fast).toEqual(slow);
    return;
  }
  const common = Math.min(fast.length, slow.length) - 1;
  const ends = [fast.at(-1) ?? "", slow.at(-1) ?? ""];
  const oneHasTwoHosts = ends.filter((end) => end.includes(TWO_HOSTS)).length === 1;
  if (oneHasTwoHosts) for (const end of ends) expect(end).toMatch(/^HTTP\/1\.1 400 /);
  else expect(ends[0]).toBe(ends[1]);
  expect(fast.slice(0, common)).toEqual(slow.slice(0, common));
}

test("any requests, split anywhere, get the same replies on both paths (N5)", async () => {
  const { port: fast } = await serve(echo);
  const { port: slow } = await serve(echo, { answersText: undefined });
  const requests = fc.array(request, { minLength: 1, maxLength: 4 });
  const cuts = fc.array(fc.nat(400), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(requests, fc.constantFrom(LAST, LAST, ""), cuts, async (all, last, at) => {
      const bytes = all.join("") + last;
      const positions = [0, ...at.sort((a, b) => a - b), bytes.length];
      const pieces = positions.slice(1).map((end, index) => bytes.slice(positions[index], end));
      const [one, other] = [await repliesTo(fast, pieces), await repliesTo(slow, pieces)];
      // A client that continues to send after a refusal is reset, and the reset may overtake it.
      fc.pre(!one.reset && !other.reset);
      expectSame(splitReplies(one.text), splitReplies(other.text));
    }),
    { numRuns: 150 },
  );
});

test("pipelined requests are answered one at a time, in order (C1)", async () => {
  const { held, handler } = createHolder();
  const { port } = await serve(handler);
  const socket = await dial(port);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.write(postOf("1") + postOf("2") + postOf("3"));
  for (const name of ["first", "second", "third"]) {
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.answer(name);
    await expect.poll(() => text).toContain(name);
  }
  expect(text.match(/first|second|third/g)).toEqual(["first", "second", "third"]);
});

test("reading pauses for a client that sends too far ahead (C1)", async () => {
  const { held, handler } = createHolder();
  const { port } = await serve(handler);
  const socket = await dial(port);
  socket.resume();
  const ahead = postOf("x".repeat(BODY_BYTES_MAX));
  const count = 200;
  let progress = 0;
  socket.write(postOf("first"));
  for (let sent = 0; sent < count; sent += 1) {
    socket.write(ahead, () => {
      progress += 1;
    });
  }
  await expect.poll(() => held.length).toBe(1);
  for (let asked = 0; asked < 50; asked += 1) {
    const reply = fetch(`http://${HOST}:${port}`, { method: "POST", body: "other" });
    await expect.poll(() => held.length, { interval: 1 }).toBe(2);
    held.pop()?.answer("");
    await reply; // By now the server has read all it will.
  }
  expect(progress).toBeLessThan(count); // 40 MB exceed the socket buffers.
  for (let answered = 0; answered <= count; answered += 1) {
    await expect.poll(() => held.length, { interval: 1 }).toBe(1);
    held.shift()?.answer("");
  }
  expect(progress).toBe(count);
});

test("a client that does not read its replies is cut off (C3)", async () => {
  let asked = 0;
  const big = "x".repeat(1_000_000);
  const handler: HttpHandler = async () => {
    asked += 1;
    return { status: 200, headers: [], body: big };
  };
  const { port } = await serve(handler, { stallMsMax: 100, slowCheckMs: 20 });
  const socket = (await dial(port)).pause();
  const count = 100;
  for (let sent = 0; sent < count; sent += 1) socket.write(postOf(""));
  const isCut = () => !socket.write("x") && socket.destroyed;
  await expect.poll(isCut).toBe(true);
  expect(asked).toBeLessThan(count);
});

test("a client that reads a reply slowly gets all of it (C3)", async () => {
  const bytes = 12_000_000;
  const handler: HttpHandler = async () => ({ status: 200, headers: [], body: "x".repeat(bytes) });
  const { port } = await serve(handler, { stallMsMax: 1_500, slowCheckMs: 20 });
  const socket = (await dial(port)).pause();
  socket.write(postOf(""));
  let progress = 0;
  while (progress < bytes) {
    await new Promise((resolve) => setTimeout(resolve, 100)); // The test is about time.
    progress +=
      (socket.read(Math.min(400_000, socket.readableLength)) as Buffer | null)?.length ?? 0;
    if (socket.destroyed) break;
  }
  expect(progress).toBeGreaterThanOrEqual(bytes);
});

test("a handler that throws synchronously is reported like any other", async () => {
  const { port, errors } = await serve(() => {
    throw new Error("a bug");
  });
  expect((await repliesTo(port, [postOf("")])).text).toMatch(/^HTTP\/1.1 500 /);
  expect(errors).toEqual([new Error("a bug")]);
});

test("a connection that is idle for too long is closed without a reply (C3)", async () => {
  const { port } = await serve(echo, { keepAliveMs: 50, slowCheckMs: 20 });
  const socket = await dial(port);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.write(postOf(""));
  await closeOf(socket);
  expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n(.*\r\n)*.*\]$/);
});

test("a connection that sends nothing gets 408 (C3)", async () => {
  const { port } = await serve(echo, { headersMsMax: 50, slowCheckMs: 20 });
  const socket = await dial(port);
  const [reply] = await once(socket, "data");
  expect(String(reply)).toMatch(/^HTTP\/1.1 408 /);
});

test("node:http serves and closes a socket that was handed over (C2)", async () => {
  const { held, handler } = createHolder();
  const { listener, port } = await serve(handler);
  const socket = await dial(port);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.write("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
  await expect.poll(() => held.length).toBe(1);
  held.shift()?.answer("one");
  socket.write(postOf("two"));
  await expect.poll(() => held.length).toBe(1);
  const { request: second, answer } = held.shift() as (typeof held)[0];
  expect([second.method, Buffer.from(second.body).toString()]).toEqual(["POST", "two"]);
  const closed = listener.close();
  answer("two");
  await Promise.all([closed, closeOf(socket)]);
  expect(text).toContain("connection: close");
});

test("a reply with a header that would end its line is not sent and is reported", async () => {
  const { port, errors } = await serve(async () => ({
    status: 200,
    headers: ["x-own", "a\r\nx-forged: yes"],
    body: "",
  }));
  const { text } = await repliesTo(port, [postOf("")]);
  expect(text).toMatch(/^HTTP\/1.1 500 /);
  expect(text).not.toContain("forged");
  expect(errors).toHaveLength(1);
});

test("the content length of text beyond ASCII is in bytes, and the text arrives unchanged", async () => {
  const { port } = await serve(async () => ({ status: 200, headers: [], body: "å∀😀" }));
  const reply = await fetch(`http://${HOST}:${port}`, { method: "POST", body: "x" });
  expect([reply.headers.get("content-length"), await reply.text()]).toEqual(["9", "å∀😀"]);
});

test("a dropped reply closes the connection", async () => {
  const dropped = { status: 500, headers: [], body: "", dropped: true } as const;
  const { port } = await serve(async () => dropped);
  expect(await repliesTo(port, [postOf("")])).toMatchObject({ text: "" });
});
