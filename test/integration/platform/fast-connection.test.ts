// The short way against node:http: the same bytes, cut anywhere, must bring the same answers.

import { once } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { HttpHandler, HttpRequest } from "../../../src/ports/http.ts";
import { createListening, HOST } from "../../support/listening.ts";

const BODY_BYTES_MAX = 200_000;
const { serve, dial: dialUp } = createListening({
  bodyBytesMax: BODY_BYTES_MAX,
  answersText: () => true,
});

/** Tells all that it was given; a target of /refused is answered by a fault. */
const tellAll: HttpHandler = async ({ method, path, query, headers, body, bodyTooLarge }) => ({
  status: path === "/refused" ? 400 : 200,
  headers: ["x-own", "yes"],
  body: JSON.stringify([
    [method, path, query, bodyTooLarge],
    Object.entries(headers).sort(),
    Buffer.from(body).toString("latin1"),
  ]),
});

/** Sends the pieces, each as a packet of its own as far as it can be, and collects the answers. */
async function answersTo(port: number, pieces: readonly string[]) {
  const socket = await dial(port);
  const heard = { text: "", reset: false };
  socket.on("data", (chunk) => {
    heard.text += chunk.toString("latin1");
  });
  socket.on("error", () => {
    heard.reset = true;
  });
  const closed = closeOf(socket);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece, "latin1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  await closed;
  heard.text = heard.text.replace(/Date: [^\r]*/g, "Date: now");
  return heard;
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

/** Holds every request until it is let go, in the order of arrival. */
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

/** The answers in a stream of them, cut where each begins. */
function answersIn(text: string): string[] {
  return text.split(/(?=HTTP\/1\.1 )/).filter((answer) => answer !== "");
}

/**
 * node:http refuses a broken request at once, and drops those before it that it has not answered
 * yet, which is a matter of turns; the short way answers them. There is no other difference.
 */
function expectAlike(short: string[], long: string[]): void {
  const refused = long.at(-1)?.startsWith("HTTP/1.1 400 ") === true;
  if (!refused) {
    expect(short).toEqual(long);
    return;
  }
  const common = Math.min(short.length, long.length) - 1;
  expect(short.at(-1)).toBe(long.at(-1));
  expect(short.slice(0, common)).toEqual(long.slice(0, common));
}

test("whatever is sent, in whatever pieces, both ways answer the same (N5)", async () => {
  const { port: short } = await serve(tellAll);
  const { port: long } = await serve(tellAll, { answersText: undefined });
  const requests = fc.array(request, { minLength: 1, maxLength: 4 });
  const cuts = fc.array(fc.nat(400), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(requests, fc.constantFrom(LAST, LAST, ""), cuts, async (all, last, at) => {
      const bytes = all.join("") + last;
      const places = [0, ...at.sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, index) => bytes.slice(places[index], end));
      const [one, other] = [await answersTo(short, pieces), await answersTo(long, pieces)];
      // Who goes on sending after a refusal is reset, and a reset may overtake the refusal.
      fc.pre(!one.reset && !other.reset);
      expectAlike(answersIn(one.text), answersIn(other.text));
    }),
    { numRuns: 150 },
  );
});

test("requests sent ahead are answered one by one, in their order (C1)", async () => {
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

test("a client that sends far ahead is not read any further until it is answered (C1)", async () => {
  const { held, handler } = createHolder();
  const { port } = await serve(handler);
  const socket = await dial(port);
  socket.resume();
  const ahead = postOf("x".repeat(BODY_BYTES_MAX));
  const count = 200;
  let taken = 0;
  socket.write(postOf("first"));
  for (let sent = 0; sent < count; sent += 1) {
    socket.write(ahead, () => {
      taken += 1;
    });
  }
  await expect.poll(() => held.length).toBe(1);
  for (let asked = 0; asked < 50; asked += 1) {
    const reply = fetch(`http://${HOST}:${port}`, { method: "POST", body: "other" });
    await expect.poll(() => held.length, { interval: 1 }).toBe(2);
    held.pop()?.answer("");
    await reply; // All that could be read meanwhile has been.
  }
  expect(taken).toBeLessThan(count); // 40 MB do not fit into what the system keeps.
  for (let answered = 0; answered <= count; answered += 1) {
    await expect.poll(() => held.length, { interval: 1 }).toBe(1);
    held.shift()?.answer("");
  }
  expect(taken).toBe(count);
});

test("a client that takes no replies is answered no further, and cut off (C3)", async () => {
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
  await expect.poll(isCut, { timeout: 30_000 }).toBe(true);
  expect(asked).toBeLessThan(count);
});

test("a client that takes a reply slowly gets all of it (C3)", async () => {
  const bytes = 12_000_000;
  const handler: HttpHandler = async () => ({ status: 200, headers: [], body: "x".repeat(bytes) });
  const { port } = await serve(handler, { stallMsMax: 1_500, slowCheckMs: 20 });
  const socket = (await dial(port)).pause();
  socket.write(postOf(""));
  let taken = 0;
  while (taken < bytes) {
    await new Promise((resolve) => setTimeout(resolve, 100)); // The subject of the test is time.
    taken += (socket.read(Math.min(400_000, socket.readableLength)) as Buffer | null)?.length ?? 0;
    if (socket.destroyed) break;
  }
  expect(taken).toBeGreaterThanOrEqual(bytes);
});

test("a handler that throws before it gives a promise is told of as any other", async () => {
  const { port, errors } = await serve(() => {
    throw new Error("a bug");
  });
  expect((await answersTo(port, [postOf("")])).text).toMatch(/^HTTP\/1.1 500 /);
  expect(errors).toEqual([new Error("a bug")]);
});

test("a connection that has been idle for too long is ended without a word (C3)", async () => {
  const { port } = await serve(tellAll, { keepAliveMs: 50, slowCheckMs: 20 });
  const socket = await dial(port);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.write(postOf(""));
  await closeOf(socket);
  expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n(.*\r\n)*.*\]$/);
});

test("a connection that says nothing at all is answered 408 (C3)", async () => {
  const { port } = await serve(tellAll, { headersMsMax: 50, slowCheckMs: 20 });
  const socket = await dial(port);
  const [said] = await once(socket, "data");
  expect(String(said)).toMatch(/^HTTP\/1.1 408 /);
});

test("a socket that was handed over is served on by node:http, and closed with it (C2)", async () => {
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

test("a reply that would break its own head is not sent, and told of", async () => {
  const { port, errors } = await serve(async () => ({
    status: 200,
    headers: ["x-own", "a\r\nx-forged: yes"],
    body: "",
  }));
  const { text } = await answersTo(port, [postOf("")]);
  expect(text).toMatch(/^HTTP\/1.1 500 /);
  expect(text).not.toContain("forged");
  expect(errors).toHaveLength(1);
});

test("text beyond ASCII is told in bytes, and arrives as it was", async () => {
  const { port } = await serve(async () => ({ status: 200, headers: [], body: "å∀😀" }));
  const reply = await fetch(`http://${HOST}:${port}`, { method: "POST", body: "x" });
  expect([reply.headers.get("content-length"), await reply.text()]).toEqual(["9", "å∀😀"]);
});

test("a fault that drops the answer closes the connection instead", async () => {
  const dropped = { status: 500, headers: [], body: "", dropped: true } as const;
  const { port } = await serve(async () => dropped);
  expect(await answersTo(port, [postOf("")])).toMatchObject({ text: "" });
});
