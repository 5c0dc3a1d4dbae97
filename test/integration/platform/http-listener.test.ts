import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import {
  createHttpListener,
  type HttpListenerOptions,
} from "../../../src/platform/http/http-listener.ts";
import type { HttpHandler, HttpRequest } from "../../../src/ports/http/http.ts";
import { createListening, HOST } from "../../support/listening.ts";

const BODY_BYTES_MAX = 1_000;
const REQUEST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

const { serve } = createListening({ bodyBytesMax: BODY_BYTES_MAX });

/** Records each request and answers with the length of its body. */
function createRecorder() {
  const requests: HttpRequest[] = [];
  const handler: HttpHandler = async (request) => {
    requests.push(request);
    const status = request.bodyTooLarge ? 413 : 200;
    return { status, headers: ["x-own", "yes"], body: `${request.body.length}` };
  };
  return { requests, handler };
}

/** A handler that answers on demand, and a promise of the first request that reached it. */
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

/** Every guarantee holds on both paths (N5). */
const PATHS: readonly { readonly path: string; readonly options: Partial<HttpListenerOptions> }[] =
  [
    { path: "on the slow path (node:http)", options: {} },
    { path: "on the fast path", options: { answersText: () => true } },
  ];

describe.each(PATHS)("$path", ({ options: pathOptions }) => {
  const serveOnPath = (handler: HttpHandler, options: Partial<HttpListenerOptions> = {}) =>
    serve(handler, { ...pathOptions, ...options });

  test("the handler gets the complete request, and the client gets the handler's reply", async () => {
    const { requests, handler } = createRecorder();
    const { url } = await serveOnPath(handler);
    const body = "å".repeat(200);
    const reply = await fetch(`${url}/a%20b?x=1&y=?`, { method: "POST", body });
    expect([reply.status, reply.headers.get("x-own"), await reply.text()]).toEqual([
      200,
      "yes",
      "400",
    ]);
    const [request] = requests;
    expect([request?.method, request?.path, request?.query]).toEqual(["POST", "/a%20b", "x=1&y=?"]);
    expect(Buffer.from(request?.body ?? "").toString()).toBe(body);
    expect(request?.headers.host).toBe(new URL(url).host);
    expect(request?.requestId).toMatch(/^[\da-f-]{36}$/);
  });

  test("one connection serves many requests, and a HEAD gets no body", async () => {
    const { handler } = createRecorder();
    const { port } = await serveOnPath(handler);
    const head = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const text = await exchangeRaw(port, REQUEST + REQUEST + head);
    expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);
    expect(text.match(/content-length: 1\r\n/g)).toHaveLength(3);
    expect(text.endsWith("\r\n\r\n")).toBe(true);
  });

  test("a full URL in the request line, as proxies send it, is reduced to its path", async () => {
    const { requests, handler } = createRecorder();
    const { port } = await serveOnPath(handler);
    const line = (url: string) => `GET ${url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    for (const url of ["http://a:1/b/c?d", "http://a", "*"]) await exchangeRaw(port, line(url));
    expect(requests.map(({ path, query }) => [path, query])).toEqual([
      ["/b/c", "d"],
      ["/", ""],
      ["/", ""],
    ]);
  });

  test("a request with an oversized body is passed on without the body and marked (N1)", async () => {
    const { requests, handler } = createRecorder();
    const { url } = await serveOnPath(handler);
    expect((await post(url, "x".repeat(BODY_BYTES_MAX))).status).toBe(200);
    expect((await post(url, "x".repeat(BODY_BYTES_MAX + 1))).status).toBe(413);
    expect(requests.map(({ body, bodyTooLarge }) => [body.length, bodyTooLarge])).toEqual([
      [BODY_BYTES_MAX, false],
      [0, true],
    ]);
  });

  test("a client that reads only after sending far too much still gets its reply (N2)", async () => {
    const { handler } = createRecorder();
    const { port } = await serveOnPath(handler);
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

  test("a client that never stops sending is cut off eventually (N2)", async () => {
    const { handler } = createRecorder();
    const { port } = await serveOnPath(handler);
    const socket = await connected(port);
    const closed = new Promise((resolve) => socket.on("close", () => resolve("closed")));
    socket.resume();
    const chunk = Buffer.alloc(1_024 * 1_024);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${chunk.length * 1e6}\r\n\r\n`);
    const pump = (error?: Error | null) => void (error ?? socket.write(chunk, pump));
    pump();
    expect(await closed).toBe("closed");
  });

  test("a truncated request never reaches the handler (N1)", async () => {
    const { requests, handler } = createRecorder();
    const { port, url } = await serveOnPath(handler);
    const cut = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nonly this";
    await exchangeRaw(port, cut, true);
    await fetch(url);
    expect(requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("oversized headers get 431, and bytes that are not HTTP get 400", async () => {
    const { requests, handler } = createRecorder();
    const { port } = await serveOnPath(handler);
    const long = `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(await exchangeRaw(port, long)).toMatch(/^HTTP\/1.1 431 /);
    expect(await exchangeRaw(port, "not http at all\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
    expect(requests).toEqual([]);
  });

  test.each(["GET", "POST"])("a %s with two Host headers gets 400 (N6)", async (method) => {
    const { requests, handler } = createRecorder();
    const { port } = await serveOnPath(handler);
    for (const second of ["Host: b", "hOST: a"]) {
      const head = `${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${second}\r\n\r\n`;
      expect(await exchangeRaw(port, head)).toMatch(/^HTTP\/1.1 400 .*two Host headers\n$/s);
    }
    expect(requests).toEqual([]);
  });

  test("a client that sends its headers or its body too slowly gets 408", async () => {
    const { requests, handler } = createRecorder();
    const { port } = await serveOnPath(handler, {
      headersMsMax: 50,
      requestMsMax: 80,
      slowCheckMs: 20,
    });
    expect(await exchangeRaw(port, "GET / HTTP/1.1\r\nHost:")).toMatch(/^HTTP\/1.1 408 /);
    const slow = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx";
    expect(await exchangeRaw(port, slow)).toMatch(/^HTTP\/1.1 408 /);
    expect(requests).toEqual([]);
  });

  test("a reply that takes longer than any request limit is not cut off (N2)", async () => {
    const { handler, first, release } = createHolder();
    // Long enough for the request itself, even on a busy machine.
    const limits = { headersMsMax: 400, requestMsMax: 500, slowCheckMs: 20 };
    const { url } = await serveOnPath(handler, limits);
    const reply = post(url, "poll");
    await first;
    await new Promise((resolve) => setTimeout(resolve, 800)); // The test is about time.
    release("late");
    expect(await (await reply).text()).toBe("late");
  });

  test("a connection beyond the limit is refused while all others are busy", async () => {
    const { handler, first, release } = createHolder();
    const { port } = await serveOnPath(handler, { connectionsMax: 1 });
    const busy = await connected(port);
    busy.write(REQUEST);
    await first;
    expect(await exchangeRaw(port, REQUEST).catch(() => "")).toBe("");
    const reply = once(busy, "data");
    release("late");
    expect(String(await reply)).toMatch(/^HTTP\/1.1 200/);
    busy.destroy();
  });

  test("at the limit, a new connection replaces the one that was idle for longest", async () => {
    const { handler } = createRecorder();
    const { port } = await serveOnPath(handler, { connectionsMax: 2 });
    const used = await connected(port);
    const unused = await connected(port);
    used.write(REQUEST);
    await once(used, "data"); // From here on, it is idle for less long than the other.
    const closed = once(unused, "close");
    const third = await connected(port);
    await closed;
    for (const socket of [used, third]) {
      socket.write(REQUEST);
      expect(String(await once(socket, "data"))).toMatch(/^HTTP\/1.1 200/);
      socket.destroy();
    }
  });

  test("the signal aborts when the client disconnects, and a late reply is not an error (N3)", async () => {
    const { handler, first, release } = createHolder();
    const { port, errors } = await serveOnPath(handler);
    const socket = await connected(port);
    socket.write(REQUEST);
    const request = await first;
    const { signal } = request;
    expect(signal.aborted).toBe(false);
    socket.destroy();
    await abortOf(signal);
    release("late");
    expect(errors).toEqual([]);
  });

  test("a disconnect aborts the signal before any request that the client sends afterwards (N3)", async () => {
    const signals: AbortSignal[] = [];
    const states: boolean[] = [];
    const poll = Promise.withResolvers<void>();
    const { port } = await serveOnPath((request) => {
      states.push(...signals.map(({ aborted }) => aborted));
      signals.push(request.signal);
      if (signals.length > 1) return Promise.resolve({ status: 200, headers: [], body: "" });
      poll.resolve();
      return new Promise(() => {});
    });
    const [polling, other] = [await connected(port), await connected(port)];
    polling.write(REQUEST);
    await poll.promise;
    polling.destroy();
    other.write(REQUEST);
    await once(other, "data");
    other.destroy();
    expect(states).toEqual([true]);
  });

  test("a signal first read after the client disconnected is already aborted", async () => {
    const { handler, first } = createHolder();
    const { port } = await serveOnPath(handler);
    const socket = await connected(port);
    socket.write(REQUEST);
    const request = await first;
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.destroy();
    await gone;
    await expect.poll(() => request.signal.aborted).toBe(true);
  });

  test("a signal does not abort because the reply was sent", async () => {
    const { requests, handler } = createRecorder();
    const { url } = await serveOnPath(async (request) => {
      expect(request.signal.aborted).toBe(false);
      return handler(request);
    });
    await (await post(url)).text();
    await (await post(url)).text();
    expect(requests[0]?.signal.aborted).toBe(false);
  });

  test("a handler that throws is reported, and its client gets 500", async () => {
    const { url, errors } = await serveOnPath(async () => {
      throw new Error("a bug");
    });
    expect((await post(url)).status).toBe(500);
    expect(errors).toEqual([new Error("a bug")]);
  });

  test("close() aborts the signals of requests in flight, waits for replies and closes idle connections", async () => {
    const { handler, first, release } = createHolder();
    const { listener, port, url } = await serveOnPath(handler);
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

  test("close() does not wait for a handler that never answers (N4)", async () => {
    const { handler, first } = createHolder();
    const { listener, url } = await serveOnPath(handler);
    const reply = post(url).catch(() => "cut");
    await first;
    await listener.close();
    expect(await reply).toBe("cut");
  });
});

test("a port in use and an invalid address are reported", async () => {
  const { port } = await serve(createRecorder().handler);
  const other = createHttpListener(createRecorder().handler, { onError: () => {} });
  await expect(other.listen(port, HOST)).rejects.toMatchObject({
    code: "TG_PORT_IN_USE",
    message: `port ${port} on ${HOST} is in use by another program`,
  });
  await expect(other.listen(0, "203.0.113.1")).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  await other.close();
});
