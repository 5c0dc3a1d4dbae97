// HTTP listener: sockets on one side, one function from request to reply on the other.
//   N1. Only a whole request is handed on. One that ends early is dropped, one whose body is too
//       long is handed on without it, marked as such. The one exception is a body that the handler
//       wants to have as it arrives.
//   N2. Every resource a client can take has a limit below. Waiting for a reply has none: a long
//       poll may take as long as the handler likes. A stream may be as long as it likes, too, but
//       whoever sends or takes no byte of it for STALL_MS_MAX is cut off.
//   N3. A client that has gone away is never an error; its request's signal tells the handler.
//   N4. close() ends within CLOSE_GRACE_MS and a little, whatever clients do.
//   N5. A connection begins on a short way, for plain requests whose answers are text, and goes to
//       node:http with its first request of any other kind. Answers are the same on both.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { TidegateError } from "../../core/errors.ts";
import type { HttpHandler, HttpHead, HttpReply } from "../../ports/http.ts";
import { createFastConnections, type FastConnections } from "./fast-connections.ts";
import { BODILESS, INTERNAL_ERROR } from "./fast-reply.ts";
import { HttpExchange } from "./http-exchange.ts";
import { OpenExchanges } from "./open-exchanges.ts";

const HEADER_BYTES_MAX = 16 * 1_024;
/**
 * A message of a MiB can be six on the wire: some clients write a character of JSON as \u003c, and
 * a form writes each byte as %C3. Nothing that AWS takes may be too long here.
 */
const BODY_BYTES_MAX = 8 * 1_024 * 1_024;
const CONNECTIONS_MAX = 2_000;
/** From the first byte of a request to the last of its headers. */
const HEADERS_MS_MAX = 10_000;
/** From the first byte of a request to the last of its body. */
const REQUEST_MS_MAX = 60_000;
/** Without a byte of a stream in either direction. */
const STALL_MS_MAX = 60_000;
/** How often slow requests are looked for. */
const SLOW_CHECK_MS = 2_000;
const KEEP_ALIVE_MS = 65_000;
/** What requests under way get at close() before their sockets are cut. */
const CLOSE_GRACE_MS = 1_000;

export interface HttpListenerOptions {
  /** Hears of a handler that threw, which no handler should. */
  readonly onError: (error: unknown) => void;
  readonly bodyBytesMax?: number;
  readonly connectionsMax?: number;
  readonly headersMsMax?: number;
  readonly requestMsMax?: number;
  readonly slowCheckMs?: number;
  readonly stallMsMax?: number;
  readonly keepAliveMs?: number;
  /** Which bodies are handed on as they arrive; without it, none. */
  readonly wantsStream?: (head: HttpHead) => boolean;
  /** Which POST requests are always answered by text; without it, none is known to be (N5). */
  readonly answersText?: ((head: HttpHead) => boolean) | undefined;
}

export interface HttpListener {
  /** Resolves to the port, which the system chooses when `port` is 0. */
  listen(port: number, host: string): Promise<number>;
  /** Takes no more requests, tells those under way to end, and waits for them a moment. */
  close(): Promise<void>;
}

export function createHttpListener(
  handler: HttpHandler,
  options: HttpListenerOptions,
): HttpListener {
  const bodyBytesMax = options.bodyBytesMax ?? BODY_BYTES_MAX;
  const exchanges = new OpenExchanges<HttpExchange>();
  let closing = false;

  const answer = async (exchange: HttpExchange, response: ServerResponse) => {
    if (closing) exchange.abort();
    try {
      const reply = await handler(exchange);
      if (exchange.bodyStream !== undefined) await exchange.dropRest();
      // Most replies are whole, and need nobody to wait for them.
      const sending = sendReply(exchange, response, reply, closing);
      if (sending !== null) await sending;
    } catch (error) {
      options.onError(error);
      if (response.headersSent) response.destroy();
      else await sendReply(exchange, response, INTERNAL_ERROR, true);
    }
    exchanges.delete(exchange);
  };

  const receive = (request: IncomingMessage, response: ServerResponse, asks: boolean) => {
    const exchange = new HttpExchange(request, response, asks);
    exchanges.add(exchange);
    response.once("close", () => exchanges.delete(exchange));
    if (options.wantsStream?.(exchange) === true) {
      exchange.streamBody();
      void answer(exchange, response);
    } else {
      exchange.readBody(bodyBytesMax, () => void answer(exchange, response));
    }
  };

  const server = createLimitedServer(options);
  server.on("request", (request, response) => receive(request, response, false));
  server.on("checkContinue", (request, response) => receive(request, response, true));
  const plain = takePlain(server, handler, options, () => closing);
  const watch = watchSlow(exchanges, plain, options);

  return {
    async listen(port, host) {
      const chosen = await listen(server, port, host);
      server.on("error", options.onError); // A connection that could not be taken ends nothing else.
      return chosen;
    },
    close() {
      closing = true;
      clearInterval(watch);
      for (const exchange of exchanges) exchange.abort();
      plain?.close();
      return closeServer(server, plain);
    },
  };
}

function createLimitedServer(options: HttpListenerOptions): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.headersMsMax ?? HEADERS_MS_MAX,
    requestTimeout: 0, // Ours to watch, as it has no meaning for a stream.
    connectionsCheckingInterval: options.slowCheckMs ?? SLOW_CHECK_MS,
    keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
    noDelay: true,
  });
  server.maxConnections = options.connectionsMax ?? CONNECTIONS_MAX;
  server.on("clientError", refuseBroken);
  return server;
}

/** Null when no request is known to be answered by text (N5). */
function takePlain(
  server: Server,
  handler: HttpHandler,
  options: HttpListenerOptions,
  closing: () => boolean,
): FastConnections | null {
  const { answersText, onError } = options;
  if (answersText === undefined) return null;
  return createFastConnections(server, {
    handler,
    answersText,
    onError,
    closing,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    headersMsMax: options.headersMsMax ?? HEADERS_MS_MAX,
    requestMsMax: options.requestMsMax ?? REQUEST_MS_MAX,
    stallMsMax: options.stallMsMax ?? STALL_MS_MAX,
    keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
    tooSlow: TOO_SLOW,
    broken: refusalOf(BAD_REQUEST),
  });
}

/** Cuts off whoever keeps us waiting beyond the limits (N2). */
function watchSlow(
  exchanges: Iterable<HttpExchange>,
  plain: FastConnections | null,
  options: HttpListenerOptions,
) {
  const wholeMsMax = options.requestMsMax ?? REQUEST_MS_MAX;
  const stallMsMax = options.stallMsMax ?? STALL_MS_MAX;
  const check = () => {
    const now = performance.now();
    for (const exchange of exchanges) {
      const msMax = exchange.bodyStream === undefined ? wholeMsMax : stallMsMax;
      if (exchange.waitingSince !== null && now - exchange.waitingSince > msMax) {
        exchange.cut(TOO_SLOW);
      }
    }
    plain?.cutSlow(now);
  };
  return setInterval(check, options.slowCheckMs ?? SLOW_CHECK_MS).unref();
}

/** Null when all has been handed to the system. */
function sendReply(
  exchange: HttpExchange,
  response: ServerResponse,
  reply: HttpReply,
  last: boolean,
): Promise<void> | null {
  const { status, headers, body } = reply;
  const streamed = typeof body !== "string" && !(body instanceof Uint8Array);
  if (reply.dropped) response.destroy();
  if (response.destroyed) return streamed ? giveUp(body) : null; // N3
  const sent = [...headers];
  const length = reply.bodyBytes ?? (streamed ? null : byteLength(body));
  if (length !== null && !BODILESS.has(status)) sent.push("content-length", String(length));
  if (last || !response.req.complete) sent.push("connection", "close");
  const begin = () => void response.writeHead(status, sent);
  if (streamed) return sendStream(exchange, response, body, begin);
  begin();
  return exchange.end(body);
}

/** The head waits for the first chunk: a stream that fails at once can still be answered so. */
async function sendStream(
  exchange: HttpExchange,
  response: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  begin: () => void,
): Promise<void> {
  for await (const chunk of body) {
    if (!response.headersSent) begin();
    await exchange.send(chunk); // Whoever gives chunks may use one's memory again after it.
    if (response.destroyed) return; // N3
  }
  if (!response.headersSent) begin();
  await exchange.end("");
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

/** Lets go of a stream that nobody is going to read. */
async function giveUp(body: AsyncIterable<Uint8Array>): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

/** Answers what is not HTTP, too long or too slow, as far as the socket still takes an answer. */
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
    const message = `Port ${port} on ${host} is in use by another program.`;
    return new TidegateError("TG_PORT_IN_USE", message, { cause });
  }
  const message = `Cannot listen on ${host}, port ${port}: ${cause.message}.`;
  return new TidegateError("TG_CONFIG_INVALID", message, { cause });
}

function closeServer(server: Server, plain: FastConnections | null): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      server.closeAllConnections();
      plain?.destroy();
    }, CLOSE_GRACE_MS); // N4
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
