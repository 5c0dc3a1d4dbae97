import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import {
  createHttpListener,
  type HttpListenerOptions,
} from "../../../src/platform/http/http-listener.ts";
import type { HttpHandler, HttpRequest } from "../../../src/ports/http.ts";
import { createListening, HOST } from "../../support/listening.ts";

const BODY_BYTES_MAX = 1_000;
const REQUEST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

const { serve } = createListening({ bodyBytesMax: BODY_BYTES_MAX });

/** Keeps each request, and answers with the length of its body. */
function createKeeper() {
  const seen: HttpRequest[] = [];
  const handler: HttpHandler = async (request) => {
    seen.push(request);
    const status = request.bodyTooLarge ? 413 : 200;
    return { status, headers: ["x-own", "yes"], body: `${request.body.length}` };
  };
  return { seen, handler };
}

/** A handler that answers when told to, and a promise of the first request that reached it. */
function createHolder() {
  let release = (_body: string) => {};
  let arrived = (_request: HttpRequest) => {};
  const first = new Promise<HttpRequest>((resolve) => {
    arrived = resolve;
  });
  const handler: HttpHandler = (request) =>
    new Promise((resolve) => {
      release = (body) => resolve({ status: 200, headers: [], body });
      arrived(request);
    });
  return { handler, first, release: (body: string) => release(body) };
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

/** Sends raw bytes and collects everything until the server ends the connection. */
function exchangeRaw(port: number, bytes: string, end = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => (end ? socket.end(bytes) : socket.write(bytes)));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}

function post(url: string, body = ""): Promise<Response> {
  return fetch(url, { method: "POST", body });
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST, () => resolve(socket));
    socket.on("error", () => {});
  });
}

/** Every guarantee holds on both ways (N5). */
const WAYS: readonly { readonly way: string; readonly options: Partial<HttpListenerOptions> }[] = [
  { way: "through node:http", options: {} },
  { way: "on the short way", options: { answersText: () => true } },
];

describe.each(WAYS)("$way", ({ options: way }) => {
  const serveSo = (handler: HttpHandler, options: Partial<HttpListenerOptions> = {}) =>
    serve(handler, { ...way, ...options });

  test("a request arrives whole, and its reply goes back with what the handler said", async () => {
    const { seen, handler } = createKeeper();
    const { url } = await serveSo(handler);
    const body = "å".repeat(200);
    const reply = await fetch(`${url}/a%20b?x=1&y=?`, { method: "POST", body });
    expect([reply.status, reply.headers.get("x-own"), await reply.text()]).toEqual([
      200,
      "yes",
      "400",
    ]);
    const [request] = seen;
    expect([request?.method, request?.path, request?.query]).toEqual(["POST", "/a%20b", "x=1&y=?"]);
    expect(Buffer.from(request?.body ?? "").toString()).toBe(body);
    expect(request?.headers.host).toBe(new URL(url).host);
    expect(request?.requestId).toMatch(/^[\da-f-]{36}$/);
  });

  test("one connection serves many requests, and a HEAD gets no body", async () => {
    const { handler } = createKeeper();
    const { port } = await serveSo(handler);
    const head = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const text = await exchangeRaw(port, REQUEST + REQUEST + head);
    expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);
    expect(text.match(/content-length: 1\r\n/g)).toHaveLength(3);
    expect(text.endsWith("\r\n\r\n")).toBe(true);
  });

  test("a whole URL in the request line, as proxies send it, is taken for its path", async () => {
    const { seen, handler } = createKeeper();
    const { port } = await serveSo(handler);
    const line = (url: string) => `GET ${url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    for (const url of ["http://a:1/b/c?d", "http://a", "*"]) await exchangeRaw(port, line(url));
    expect(seen.map(({ path, query }) => [path, query])).toEqual([
      ["/b/c", "d"],
      ["/", ""],
      ["/", ""],
    ]);
  });

  test("a body beyond the limit is handed on as too large, without its bytes (N1)", async () => {
    const { seen, handler } = createKeeper();
    const { url } = await serveSo(handler);
    expect((await post(url, "x".repeat(BODY_BYTES_MAX))).status).toBe(200);
    expect((await post(url, "x".repeat(BODY_BYTES_MAX + 1))).status).toBe(413);
    expect(seen.map(({ body, bodyTooLarge }) => [body.length, bodyTooLarge])).toEqual([
      [BODY_BYTES_MAX, false],
      [0, true],
    ]);
  });

  test("a client that reads only after sending far too much still gets its answer (N2)", async () => {
    const { handler } = createKeeper();
    const { port } = await serveSo(handler);
    const socket = connect(port, HOST).pause();
    const chunk = Buffer.alloc(1_024 * 1_024);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${chunk.length * 1_000}\r\n\r\n`);
    const send = () => new Promise<void>((resolve) => socket.write(chunk, () => resolve()));
    const failed = new Promise<never>((_, reject) => socket.on("error", reject));
    for (let sent = 0; sent < 32; sent += 1) await Promise.race([send(), failed]);
    const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.resume();
    const text = (await Promise.race([answer, failed])).toString();
    expect(text).toMatch(/^HTTP\/1.1 413 /);
    expect(text).toContain("\r\nconnection: close\r\n");
    socket.destroy();
  });

  test("a client that never stops sending is cut off in the end (N2)", async () => {
    const { handler } = createKeeper();
    const { port } = await serveSo(handler);
    const socket = await connected(port);
    const closed = new Promise((resolve) => socket.on("close", () => resolve("closed")));
    socket.resume();
    const chunk = Buffer.alloc(1_024 * 1_024);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${chunk.length * 1e6}\r\n\r\n`);
    const pump = (error?: Error | null) => void (error ?? socket.write(chunk, pump));
    pump();
    expect(await closed).toBe("closed");
  });

  test("a request that ends early never reaches the handler (N1)", async () => {
    const { seen, handler } = createKeeper();
    const { port, url } = await serveSo(handler);
    const cut = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nonly this";
    await exchangeRaw(port, cut, true);
    await fetch(url);
    expect(seen.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("headers beyond the limit are answered 431, and what is no HTTP 400", async () => {
    const { seen, handler } = createKeeper();
    const { port } = await serveSo(handler);
    const long = `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(await exchangeRaw(port, long)).toMatch(/^HTTP\/1.1 431 /);
    expect(await exchangeRaw(port, "not http at all\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
    expect(seen).toEqual([]);
  });

  test("a client that sends its headers or its body too slowly is answered 408", async () => {
    const { seen, handler } = createKeeper();
    const { port } = await serveSo(handler, {
      headersMsMax: 50,
      requestMsMax: 80,
      slowCheckMs: 20,
    });
    expect(await exchangeRaw(port, "GET / HTTP/1.1\r\nHost:")).toMatch(/^HTTP\/1.1 408 /);
    const slow = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx";
    expect(await exchangeRaw(port, slow)).toMatch(/^HTTP\/1.1 408 /);
    expect(seen).toEqual([]);
  });

  test("a reply that takes longer than any limit on requests is not cut (N2)", async () => {
    const { handler, first, release } = createHolder();
    // Long enough for the request itself, even where others keep the machine busy.
    const limits = { headersMsMax: 400, requestMsMax: 500, slowCheckMs: 20 };
    const { url } = await serveSo(handler, limits);
    const reply = post(url, "poll");
    await first;
    await new Promise((resolve) => setTimeout(resolve, 800)); // The subject of the test is time.
    release("late");
    expect(await (await reply).text()).toBe("late");
  });

  test("a connection beyond the limit is closed, and the others live on", async () => {
    const { handler } = createKeeper();
    const { port } = await serveSo(handler, { connectionsMax: 2 });
    const first = await connected(port);
    const second = await connected(port);
    expect(await exchangeRaw(port, REQUEST).catch(() => "")).toBe("");
    second.write(REQUEST);
    const [chunk] = await new Promise<[Buffer]>((resolve) =>
      second.once("data", (data) => resolve([data])),
    );
    expect(chunk.toString()).toMatch(/^HTTP\/1.1 200/);
    first.destroy();
    second.destroy();
  });

  test("the signal aborts when the client goes away, and its late reply harms nobody (N3)", async () => {
    const { handler, first, release } = createHolder();
    const { port, errors } = await serveSo(handler);
    const socket = await connected(port);
    socket.write(REQUEST);
    const request = await first;
    const { signal } = request;
    expect(signal.aborted).toBe(false);
    socket.destroy();
    await abortOf(signal);
    release("to nobody");
    expect(errors).toEqual([]);
  });

  test("a signal first looked at after the client has gone is aborted already", async () => {
    const { handler, first } = createHolder();
    const { port } = await serveSo(handler);
    const socket = await connected(port);
    socket.write(REQUEST);
    const request = await first;
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.destroy();
    await gone;
    await expect.poll(() => request.signal.aborted).toBe(true);
  });

  test("a signal does not abort because the reply has gone out", async () => {
    const { seen, handler } = createKeeper();
    const { url } = await serveSo(async (request) => {
      expect(request.signal.aborted).toBe(false);
      return handler(request);
    });
    await (await post(url)).text();
    await (await post(url)).text();
    expect(seen[0]?.signal.aborted).toBe(false);
  });

  test("a handler that throws is told of, and its client gets 500", async () => {
    const { url, errors } = await serveSo(async () => {
      throw new Error("a bug");
    });
    expect((await post(url)).status).toBe(500);
    expect(errors).toEqual([new Error("a bug")]);
  });

  test("closing tells requests under way, waits for their replies and ends idle ones", async () => {
    const { handler, first, release } = createHolder();
    const { listener, port, url } = await serveSo(handler);
    const idle = await connected(port);
    const idleClosed = new Promise((resolve) => idle.once("close", resolve));
    const reply = post(url);
    const { signal } = await first;
    const closed = listener.close();
    await abortOf(signal);
    release("the last");
    expect(await (await reply).text()).toBe("the last");
    await closed;
    await idleClosed;
  });

  test("closing does not wait for a handler that never answers (N4)", async () => {
    const { handler, first } = createHolder();
    const { listener, url } = await serveSo(handler);
    const reply = post(url).catch(() => "cut");
    await first;
    await listener.close();
    expect(await reply).toBe("cut");
  });
});

test("a port that is taken is said to be so, and a wrong address, too", async () => {
  const { port } = await serve(createKeeper().handler);
  const other = createHttpListener(createKeeper().handler, { onError: () => {} });
  await expect(other.listen(port, HOST)).rejects.toMatchObject({
    code: "TG_PORT_IN_USE",
    message: `port ${port} on ${HOST} is in use by another program`,
  });
  await expect(other.listen(0, "203.0.113.1")).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  await other.close();
});
