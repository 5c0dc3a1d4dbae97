// Fast connection: one client's socket while it only sends simple requests (fast path).
//   C1. One request at a time, in order of arrival. Bytes that arrive meanwhile are buffered, up to
//       AHEAD_BYTES_MAX; then reading pauses, and a disconnect goes unnoticed.
//   C2. The first bytes that are not a simple request are unshifted, and node:http takes over the
//       socket permanently (slow path), without our listeners and without a pending reply.
//   C3. `deadline` limits how long the server waits for the client: for a request, for the rest of
//       one, or for reading the next piece of a reply. A client that misses it is cut off. While
//       the client waits for the server, no deadline applies.
//   C4. A client that ends its side has disconnected, as in node:http: its request's signal aborts.

import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { HttpHandler, HttpHead, HttpReply, HttpRequest } from "../../ports/http.ts";
import { INTERNAL_ERROR, writeFastReply } from "./fast-reply.ts";
import { type FastHead, readFastHead } from "./fast-request.ts";

/** How much a client may send before the previous request is answered. */
const AHEAD_BYTES_MAX = 64 * 1_024;
/** Longer replies are written in pieces. */
const PIECE_BYTES = 64 * 1_024;

export interface FastService {
  readonly handler: HttpHandler;
  /** Whether the reply to a simple request is text. */
  readonly answersText: (head: HttpHead) => boolean;
  readonly bodyBytesMax: number;
  /** Until the first bytes of a connection. */
  readonly headersMsMax: number;
  /** Until the request is complete. */
  readonly requestMsMax: number;
  /** Until the client reads a piece of the reply. */
  readonly stallMsMax: number;
  /** Until the next request. */
  readonly keepAliveMs: number;
  /** Whether the server is closing: connections accept no further requests. */
  readonly closing: () => boolean;
  readonly onError: (error: unknown) => void;
  /** Sent to a client that did not complete its request in time. */
  readonly tooSlow: string;
  /** Sent to a client that ended its side within a request. */
  readonly broken: string;
  /** Takes over a socket whose next bytes are not a simple request (C2). */
  readonly handOver: (socket: Socket) => void;
  /** The connection has closed or was handed over. */
  readonly forget: (connection: FastConnection) => void;
}

/** Before the first request, between requests, receiving one, handling it, writing its reply. */
type Phase = "new" | "idle" | "reading" | "answering" | "replying";

export class FastConnection {
  index = -1;
  /** In the time of performance.now(), or Infinity (C3). */
  deadline: number;
  readonly #socket: Socket;
  readonly #service: FastService;
  #phase: Phase = "new";
  /** The incomplete request, while "reading". */
  #head: FastHead | null = null;
  /** The request being handled, while "answering". */
  #exchange: FastExchange | null = null;
  /** The bytes received of the next request. */
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;

  constructor(socket: Socket, service: FastService) {
    this.#socket = socket;
    this.#service = service;
    this.deadline = performance.now() + service.headersMsMax;
    socket.on("data", this.#arrived);
    socket.on("end", this.#ended);
    socket.on("error", ignore);
    socket.on("close", this.#closed);
  }

  /** Lets a request in flight finish; closes a connection without one immediately. */
  close(): void {
    this.#exchange?.abort();
    if (this.#phase === "new" || this.#phase === "idle") this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Cuts off a client that let its deadline pass (C3). */
  expire(): void {
    if (this.#phase === "new" || this.#phase === "reading") this.#sendLast(this.#service.tooSlow);
    else this.destroy();
  }

  readonly #arrived = (chunk: Buffer): void => {
    if (this.#phase === "idle" || this.#phase === "new") {
      this.#begin(chunk);
      return;
    }
    this.#buffered.push(chunk);
    this.#bufferedBytes += chunk.length;
    if (this.#head !== null) {
      if (this.#bufferedBytes >= this.#head.bodyEnd) this.#start(this.#head, this.#takeBuffered());
    } else if (this.#bufferedBytes > AHEAD_BYTES_MAX) {
      this.#socket.pause(); // C1
    }
  };

  readonly #ended = (): void => {
    if (this.#phase === "reading") this.#sendLast(this.#service.broken);
    else this.#socket.end(); // C4
  };

  readonly #closed = (): void => {
    this.deadline = Number.POSITIVE_INFINITY;
    this.#exchange?.abort();
    this.#service.forget(this);
  };

  #begin(bytes: Buffer): void {
    const service = this.#service;
    const head = readFastHead(bytes, service.bodyBytesMax);
    if (head === null || !service.answersText(head)) {
      this.#handOver(bytes);
    } else if (bytes.length >= head.bodyEnd) {
      this.#start(head, bytes);
    } else {
      this.#phase = "reading";
      this.#head = head;
      this.#buffered.push(bytes);
      this.#bufferedBytes = bytes.length;
      this.deadline = performance.now() + service.requestMsMax;
    }
  }

  #start(head: FastHead, bytes: Buffer): void {
    this.#phase = "answering";
    this.#head = null;
    if (bytes.length > head.bodyEnd) {
      this.#buffered.push(bytes.subarray(head.bodyEnd));
      this.#bufferedBytes = bytes.length - head.bodyEnd;
    }
    this.deadline = Number.POSITIVE_INFINITY;
    const body = bytes.subarray(head.bodyStart, head.bodyEnd);
    const exchange = new FastExchange(head, body, this.#socket);
    this.#exchange = exchange;
    if (this.#service.closing()) exchange.abort();
    try {
      this.#service.handler(exchange).then(this.#answered, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  readonly #answered = (reply: HttpReply): void => {
    try {
      this.#send(reply, this.#service.closing());
    } catch (error) {
      this.#failed(error);
    }
  };

  readonly #failed = (error: unknown): void => {
    this.#service.onError(error);
    this.#send(INTERNAL_ERROR, true);
  };

  #send(reply: HttpReply, last: boolean): void {
    const socket = this.#socket;
    if (reply.dropped) socket.destroy();
    if (!socket.writable) return;
    const { text, encoding } = writeFastReply(reply, last ? null : this.#service.keepAliveMs);
    this.#exchange = null;
    this.#phase = "replying";
    if (last) this.#sendLast(text, encoding);
    else if (text.length > PIECE_BYTES) this.#sendPieces(Buffer.from(text, encoding), 0);
    else if (socket.write(text, encoding)) this.#next();
    else {
      this.deadline = performance.now() + this.#service.stallMsMax;
      socket.once("drain", () => this.#next());
    }
  }

  /** Sends in pieces, so that a slow reader of a long reply makes visible progress (C3). */
  #sendPieces(bytes: Buffer, from: number): void {
    const to = from + PIECE_BYTES;
    this.deadline = performance.now() + this.#service.stallMsMax;
    this.#socket.write(bytes.subarray(from, to), (error) => {
      if (error) return; // The client has disconnected.
      if (to < bytes.length) this.#sendPieces(bytes, to);
      else this.#next();
    });
  }

  #sendLast(text: string, encoding?: BufferEncoding): void {
    this.#phase = "replying";
    this.#head = null;
    this.deadline = performance.now() + this.#service.stallMsMax;
    this.#socket.write(text, encoding);
    this.#socket.destroySoon();
  }

  #next(): void {
    if (this.#service.closing()) {
      this.#socket.destroySoon();
      return;
    }
    this.#phase = "idle";
    this.deadline = performance.now() + this.#service.keepAliveMs;
    if (this.#bufferedBytes === 0) return;
    const bytes = this.#takeBuffered();
    this.#socket.resume();
    this.#begin(bytes);
  }

  #takeBuffered(): Buffer {
    const [first] = this.#buffered;
    const bytes = this.#buffered.length === 1 ? (first as Buffer) : Buffer.concat(this.#buffered);
    this.#buffered = [];
    this.#bufferedBytes = 0;
    return bytes;
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    socket.off("data", this.#arrived);
    socket.off("end", this.#ended);
    socket.off("error", ignore);
    socket.off("close", this.#closed);
    this.#service.forget(this);
    socket.pause();
    socket.unshift(bytes);
    this.#service.handOver(socket);
    socket.resume();
  }
}

function ignore(): void {
  // "close" follows; a disconnected client is not an error.
}

class FastExchange implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HttpRequest["headers"];
  readonly body: Uint8Array;
  readonly bodyTooLarge = false;
  readonly requestId: string = randomUUID();
  readonly #socket: Socket;
  #abort: AbortController | null = null;
  #aborted = false;

  constructor(head: FastHead, body: Uint8Array, socket: Socket) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.headers = head.headers;
    this.body = body;
    this.#socket = socket;
  }

  /** Created on first use, because few handlers use it. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? "";
  }

  abort(): void {
    this.#aborted = true;
    this.#abort?.abort();
  }
}
