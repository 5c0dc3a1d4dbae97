// HTTP listener: connects sockets to one function from request to reply.
//   N1. The handler only gets complete requests. A truncated request is dropped; a request with an
//       oversized body is passed on without the body and marked. The exception is a body that the
//       handler wants as a stream.
//   N2. Every resource that a client can use has a limit below, except waiting for a reply: a long
//       poll may take as long as the handler needs. A stream may have any length, but a client that
//       sends or reads no byte of it for STALL_MS_MAX is cut off. Limits that multiply with
//       connections have a total: bodies (body-budget.ts), long replies (reply-buffer.ts), and the
//       connections themselves (connection-limit.ts).
//   N3. A client that disconnects is never an error; its request's signal informs the handler.
//   N4. close() resolves shortly after CLOSE_GRACE_MS at the latest, whatever clients do.
//   N5. A connection starts on the fast path, for simple requests with text replies. Its first
//       other request moves it to node:http, the slow path. Replies are the same on both.
//   N6. A request with two Host headers is refused: node:http reads the first one, and others may
//       read the second (RFC 9112, 3.2).

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { TidegateError } from "../../core/errors.ts";
import type { HttpHandler, HttpHead, HttpReply } from "../../ports/http/http.ts";
import { BodyBudgets, SMALL_BYTES } from "./body-budget.ts";
import { type IdleCandidate, limitConnections, SlowSockets } from "./connection-limit.ts";
import {
  createFastConnections,
  type FastConnections,
  type FastServiceOptions,
} from "./fast-connections.ts";
import { BODILESS, BUSY, INTERNAL_ERROR, TWO_HOSTS, writeFastReply } from "./fast-reply.ts";
import { HttpExchange } from "./http-exchange.ts";
import { OpenExchanges } from "./open-exchanges.ts";
import { PIECE_BYTES, ReplyBuffer } from "./reply-buffer.ts";

const HEADER_BYTES_MAX = 16 * 1_024;
/**
 * A message of 1 MiB can take 6 MiB on the wire: some clients escape JSON characters as \u003c, and
 * forms write each byte as %C3. Every request that AWS accepts must fit.
 */
const BODY_BYTES_MAX = 8 * 1_024 * 1_024;
const CONNECTIONS_MAX = 2_000;
/** From the first byte of a request to the end of its headers. */
const HEADERS_MS_MAX = 10_000;
/** From the first byte of a request to the end of its body. */
const REQUEST_MS_MAX = 60_000;
const HOST_CHARS = "host".length;
/** Without a byte of a stream in either direction. */
const STALL_MS_MAX = 60_000;
/** Interval of the check for slow clients. */
const SLOW_CHECK_MS = 2_000;
const KEEP_ALIVE_MS = 65_000;
/** How long close() waits for requests in flight before it cuts their sockets. */
const CLOSE_GRACE_MS = 1_000;

export interface HttpListenerOptions {
  /** Called if a handler throws, which is a bug. */
  readonly onError: (error: unknown) => void;
  readonly bodyBytesMax?: number;
  readonly connectionsMax?: number;
  readonly headersMsMax?: number;
  readonly requestMsMax?: number;
  readonly slowCheckMs?: number;
  readonly stallMsMax?: number;
  readonly keepAliveMs?: number;
  /** Limit of each budget for bodies, for tests (body-budget.ts). */
  readonly bodiesBytesMax?: number;
  /** Counts long replies; the broker looks at it before it delivers messages. */
  readonly replies?: ReplyBuffer;
  /**
   * Which requests get their body as a stream, and how much of it the handler holds in memory at
   * most. Null: the handler gets the complete body. Default: null.
   */
  readonly streamBytesOf?: (head: HttpHead) => number | null;
  /** Which POST requests always have a text reply. Default: none (N5). */
  readonly answersText?: ((head: HttpHead) => boolean) | undefined;
}

export interface HttpListener {
  /** Resolves to the port; the operating system chooses one if `port` is 0. */
  listen(port: number, host: string): Promise<number>;
  /** Accepts no more requests, aborts those in flight, and waits for them briefly. */
  close(): Promise<void>;
}

export function createHttpListener(
  handler: HttpHandler,
  options: HttpListenerOptions,
): HttpListener {
  const exchanges = new OpenExchanges<HttpExchange>();
  const bodies = new BodyBudgets(options.bodiesBytesMax);
  const replies = options.replies ?? new ReplyBuffer();
  const slow = new SlowSockets();
  let closing = false;
  const shared = { bodies, replies, closing: () => closing };
  const receive = createReceiver(handler, options, { ...shared, exchanges, slow });
  const server = createLimitedServer(options);
  server.on("request", (request, response) => receive(request, response, false));
  server.on("checkContinue", (request, response) => receive(request, response, true));
  server.on("connection", (socket) => slow.add(socket));
  const fast = openFastPath(server, handler, options, shared);
  limitConnections(server, options.connectionsMax ?? CONNECTIONS_MAX, function* candidates() {
    yield* slow.candidates();
    if (fast !== null) yield* fast as Iterable<IdleCandidate>;
  });
  const watch = watchSlow(exchanges, fast, replies, options);

  return {
    async listen(port, host) {
      const chosen = await listen(server, port, host);
      server.on("error", options.onError); // A failed accept does not stop the server.
      return chosen;
    },
    close() {
      closing = true;
      clearInterval(watch);
      for (const exchange of exchanges) exchange.abort();
      fast?.close();
      return closeServer(server, fast);
    },
  };
}

/** The parts of a listener that its requests share. */
interface SharedParts {
  readonly exchanges: OpenExchanges<HttpExchange>;
  readonly bodies: BodyBudgets;
  readonly replies: ReplyBuffer;
  readonly slow: SlowSockets;
  readonly closing: () => boolean;
}

/** Receives requests on the slow path (N5). */
function createReceiver(
  handler: HttpHandler,
  options: HttpListenerOptions,
  { exchanges, bodies, replies, slow, closing }: SharedParts,
) {
  const bodyBytesMax = options.bodyBytesMax ?? BODY_BYTES_MAX;

  const answer = async (exchange: HttpExchange, response: ServerResponse) => {
    if (closing()) exchange.abort();
    exchange.handled();
    try {
      const reply = await handler(exchange);
      if (exchange.bodyStream !== undefined) await exchange.dropRest();
      exchange.answered();
      // Most replies are sent in one piece, with nothing to wait for.
      const sending = sendReply({ exchange, response, replies }, reply, closing());
      if (sending !== null) await sending;
    } catch (error) {
      exchange.answered();
      options.onError(error);
      if (response.headersSent) response.destroy();
      else await sendReply({ exchange, response, replies }, INTERNAL_ERROR, true);
    }
    exchanges.delete(exchange);
  };

  return (request: IncomingMessage, response: ServerResponse, expects: boolean) => {
    const { socket } = request;
    const exchange = new HttpExchange(request, response, expects);
    exchanges.add(exchange);
    slow.begin(socket);
    response.once("close", () => {
      exchanges.delete(exchange);
      exchange.closed();
      slow.end(socket);
    });
    if (hasTwoHosts(request)) {
      void sendReply({ exchange, response, replies }, TWO_HOSTS, true); // N6
      return;
    }
    const streamBytes = options.streamBytesOf?.(exchange) ?? null;
    const start = () => {
      if (streamBytes === null) {
        exchange.readBody(bodyBytesMax, () => void answer(exchange, response));
        return;
      }
      exchange.streamBody();
      void answer(exchange, response);
    };
    const heldBytes = Math.min(lengthOf(exchange), streamBytes ?? bodyBytesMax);
    const budget = streamBytes === null ? bodies.forBody(heldBytes) : bodies.forStreams;
    if (heldBytes <= SMALL_BYTES) start();
    else if (!exchange.admit(budget, heldBytes, start)) {
      void sendReply({ exchange, response, replies }, BUSY, true);
    }
  };
}

function createLimitedServer(options: HttpListenerOptions): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.headersMsMax ?? HEADERS_MS_MAX,
    requestTimeout: 0, // watchSlow() checks it, because it must not apply to streams.
    connectionsCheckingInterval: options.slowCheckMs ?? SLOW_CHECK_MS,
    keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
    noDelay: true,
  });
  server.on("clientError", refuseBroken);
  return server;
}

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === HOST_CHARS && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** The declared length of a body; unknown lengths count as infinite. */
function lengthOf({ headers }: HttpHead): number {
  const length = headers["content-length"];
  if (length !== undefined) return Number(length);
  return headers["transfer-encoding"] === undefined ? 0 : Number.POSITIVE_INFINITY;
}

/** Null if no request is known to have a text reply (N5). */
function openFastPath(
  server: Server,
  handler: HttpHandler,
  options: HttpListenerOptions,
  shared: Pick<FastServiceOptions, "bodies" | "replies" | "closing">,
): FastConnections | null {
  const { answersText, onError } = options;
  if (answersText === undefined) return null;
  return createFastConnections(server, {
    handler,
    answersText,
    onError,
    ...shared,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    headersMsMax: options.headersMsMax ?? HEADERS_MS_MAX,
    requestMsMax: options.requestMsMax ?? REQUEST_MS_MAX,
    stallMsMax: options.stallMsMax ?? STALL_MS_MAX,
    keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
    tooSlow: TOO_SLOW,
    busy: writeFastReply(BUSY, null).text,
    broken: refusalOf(BAD_REQUEST),
  });
}

/** Cuts off clients that exceed the limits (N2). */
function watchSlow(
  exchanges: Iterable<HttpExchange>,
  fast: FastConnections | null,
  replies: ReplyBuffer,
  options: HttpListenerOptions,
) {
  const wholeMsMax = options.requestMsMax ?? REQUEST_MS_MAX;
  const stallMsMax = options.stallMsMax ?? STALL_MS_MAX;
  const check = () => {
    const now = performance.now();
    for (const exchange of exchanges) {
      const msMax = exchange.bodyStream === undefined ? wholeMsMax : stallMsMax;
      const isLate = exchange.waitingSince !== null && now - exchange.waitingSince > msMax;
      if (isLate || exchange.isInTheWay(now, replies)) exchange.cut(TOO_SLOW);
    }
    fast?.cutSlow(now);
  };
  return setInterval(check, options.slowCheckMs ?? SLOW_CHECK_MS).unref();
}

interface Answering {
  readonly exchange: HttpExchange;
  readonly response: ServerResponse;
  readonly replies: ReplyBuffer;
}

/** Null if the operating system has accepted the whole reply. */
function sendReply(
  { exchange, response, replies }: Answering,
  reply: HttpReply,
  last: boolean,
): Promise<void> | null {
  const { status, headers, body } = reply;
  const streamed = typeof body !== "string" && !(body instanceof Uint8Array);
  if (reply.dropped) response.destroy();
  if (response.destroyed) return streamed ? discard(body) : null; // N3
  const sent = [...headers];
  const length = reply.bodyBytes ?? (streamed ? null : byteLength(body));
  if (length !== null && !BODILESS.has(status)) sent.push("content-length", String(length));
  if (last || !response.req.complete) sent.push("connection", "close");
  const begin = () => void response.writeHead(status, sent);
  if (streamed) return sendStream(exchange, response, body, begin);
  begin();
  if (length === null || length <= PIECE_BYTES) return exchange.end(body);
  if (response.req.method === "HEAD") return exchange.end("");
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return exchange.sendLong(piecesOf(bytes), bytes.length, replies);
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.subarray(from, from + PIECE_BYTES);
  }
}

/** The head waits for the first chunk, so that a stream that fails immediately gets an error. */
async function sendStream(
  exchange: HttpExchange,
  response: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  begin: () => void,
): Promise<void> {
  for await (const chunk of body) {
    if (!response.headersSent) begin();
    await exchange.send(chunk); // The source may reuse the chunk's memory afterwards.
    if (response.destroyed) return; // N3
  }
  if (!response.headersSent) begin();
  await exchange.end("");
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

/** Releases a stream that will not be read. */
async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

/** Answers requests that are not HTTP, too long or too slow, if the socket is still writable. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status = REFUSALS[error.code ?? ""] ?? BAD_REQUEST;
  socket.end(refusalOf(status), () => socket.destroy());
}

function refusalOf(status: string): string {
  return `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
}

const BAD_REQUEST = "400 Bad Request";
const REQUEST_TIMEOUT = "408 Request Timeout";
const TOO_SLOW = refusalOf(REQUEST_TIMEOUT);

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: REQUEST_TIMEOUT,
};

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(listenError(error, port, host));
    server.once("error", refuse);
    server.listen({ port, host, exclusive: true, backlog: 1_024 }, () => {
      server.off("error", refuse);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function listenError(cause: NodeJS.ErrnoException, port: number, host: string): TidegateError {
  if (cause.code === "EADDRINUSE") {
    const message = `port ${port} on ${host} is in use by another program`;
    return new TidegateError("TG_PORT_IN_USE", message, { cause });
  }
  const message = `cannot listen on ${host}, port ${port}: ${cause.message}`;
  return new TidegateError("TG_CONFIG_INVALID", message, { cause });
}

function closeServer(server: Server, fast: FastConnections | null): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      server.closeAllConnections();
      fast?.destroy();
    }, CLOSE_GRACE_MS); // N4
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
