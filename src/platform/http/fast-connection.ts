// Fast connection: one client's socket while it only sends simple requests (fast path).
//   C1. One request at a time, in order of arrival. Bytes that arrive meanwhile are buffered, up to
//       AHEAD_BYTES_MAX; then reading pauses, and a disconnect goes unnoticed.
//   C2. The first bytes that are not a simple request are unshifted, and node:http takes over the
//       socket permanently (slow path), without our listeners and without a pending reply.
//   C3. `deadline` limits how long the server waits for the client: for a request, for the rest of
//       one, or for reading the next piece of a reply. A client that misses it is cut off. While
//       the client waits for the server, no deadline applies.
//   C4. A client that ends its side has disconnected, as in node:http: its request's signal aborts,
//       before a request that the client sends afterwards on another connection is handled.
//   C5. A body that is not small is admitted before more of it is read (A1 of body-budget.ts). Its
//       bytes count until the handler has answered, even if the client disconnects before.

import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { HttpHandler, HttpHead, HttpReply, HttpRequest } from "../../ports/http/http.ts";
import {
  type BodyBudget,
  type BodyBudgets,
  ClientRate,
  SMALL_BYTES,
  type WaitingBody,
} from "./body-budget.ts";
import type { IdleCandidate } from "./connection-limit.ts";
import { INTERNAL_ERROR, writeFastReply } from "./fast-reply.ts";
import { type FastHead, readFastHead } from "./fast-request.ts";
import { PIECE_BYTES, type ReplyBuffer } from "./reply-buffer.ts";

/** How much a client may send before the previous request is answered. */
const AHEAD_BYTES_MAX = 64 * 1_024;

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
  readonly bodies: BodyBudgets;
  readonly replies: ReplyBuffer;
  /** Sent to a client whose body cannot even wait. */
  readonly busy: string;
  /** Sent to a client that did not complete its request in time. */
  readonly tooSlow: string;
  /** Sent to a client that ended its side within a request. */
  readonly broken: string;
  /** Takes over a socket whose next bytes are not a simple request (C2). */
  readonly handOver: (socket: Socket) => void;
  /** The connection has closed or was handed over. */
  readonly forget: (connection: FastConnection) => void;
}

/**
 * Before the first request, between requests, before a body is admitted, receiving it, handling the
 * request, writing its reply.
 */
type Phase = "new" | "idle" | "waiting" | "reading" | "answering" | "replying";

export class FastConnection implements IdleCandidate {
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
  /** The body that waits, while "waiting". */
  #waiting: WaitingBody | null = null;
  /** The budget of the body, and the bytes that count there; 0 if it is small (C5). */
  #budget: BodyBudget | null = null;
  #admittedBytes = 0;
  /** Bytes of a long reply, and how many of them the client has read. */
  #replyBytes = 0;
  #readBytes = 0;
  #rate: ClientRate | null = null;

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

  get idleSince(): number {
    const { keepAliveMs, headersMsMax } = this.#service;
    if (this.#socket.destroyed) return Number.POSITIVE_INFINITY;
    if (this.#phase === "idle") return this.deadline - keepAliveMs;
    return this.#phase === "new" ? this.deadline - headersMsMax : Number.POSITIVE_INFINITY;
  }

  /** Whether the client takes memory that others wait for, and is slow (A4 of body-budget.ts). */
  isInTheWay(now: number): boolean {
    if (this.#phase === "reading" && this.#admittedBytes > 0) {
      return this.#isSlow(now, this.#bufferedBytes) && this.#budget?.isContended === true;
    }
    const isReplying = this.#replyBytes > 0 && this.#isSlow(now, this.#readBytes);
    return isReplying && this.#service.replies.isFull;
  }

  #isSlow(now: number, bytes: number): boolean {
    return this.#rate?.isSlow(now, bytes) === true;
  }

  #startRate(): void {
    this.#rate ??= new ClientRate();
    this.#rate.start(performance.now());
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
    this.#exchange?.abort(); // C4: "close" is later, after other connections have been read.
    if (this.#phase === "reading") this.#sendLast(this.#service.broken);
    else this.#socket.end();
  };

  readonly #closed = (): void => {
    this.deadline = Number.POSITIVE_INFINITY;
    this.#exchange?.abort();
    if (this.#waiting !== null) this.#budget?.cancel(this.#waiting);
    if (this.#phase !== "answering") this.#releaseBody(); // C5
    this.#releaseReply();
    this.#service.forget(this);
  };

  #begin(bytes: Buffer): void {
    const service = this.#service;
    const head = readFastHead(bytes, service.bodyBytesMax);
    if (head === null || !service.answersText(head)) {
      this.#handOver(bytes);
      return;
    }
    const bodyBytes = head.bodyEnd - head.bodyStart;
    if (bodyBytes > SMALL_BYTES) {
      this.#budget = service.bodies.forBody(bodyBytes);
      if (!this.#budget.tryAdmit(bodyBytes)) {
        this.#wait(this.#budget, head, bytes);
        return;
      }
      this.#admittedBytes = bodyBytes;
    }
    this.#receive(head, bytes);
  }

  /** Stops reading until the body is admitted (C5). */
  #wait(budget: BodyBudget, head: FastHead, bytes: Buffer): void {
    const bodyBytes = head.bodyEnd - head.bodyStart;
    const waiting = budget.wait(bodyBytes, () => {
      this.#waiting = null;
      this.#admittedBytes = bodyBytes;
      this.#socket.resume();
      this.#receive(head, bytes);
    });
    if (waiting === null) {
      this.#sendLast(this.#service.busy);
      return;
    }
    this.#waiting = waiting;
    this.#phase = "waiting";
    this.deadline = Number.POSITIVE_INFINITY;
    this.#socket.pause();
  }

  #receive(head: FastHead, bytes: Buffer): void {
    if (bytes.length >= head.bodyEnd) {
      this.#start(head, bytes);
    } else {
      this.#phase = "reading";
      this.#head = head;
      this.#buffered.push(bytes);
      this.#bufferedBytes = bytes.length;
      this.deadline = performance.now() + this.#service.requestMsMax;
      if (this.#admittedBytes > 0) this.#startRate();
    }
  }

  #releaseBody(): void {
    const bytes = this.#admittedBytes;
    if (bytes === 0) return;
    this.#admittedBytes = 0;
    this.#budget?.release(bytes);
  }

  #releaseReply(): void {
    const bytes = this.#replyBytes;
    if (bytes === 0) return;
    this.#replyBytes = 0;
    this.#service.replies.remove(bytes);
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
    this.#releaseBody(); // C5
    if (reply.dropped) socket.destroy();
    if (!socket.writable) return;
    const { text, encoding } = writeFastReply(reply, last ? null : this.#service.keepAliveMs);
    this.#exchange = null;
    this.#phase = "replying";
    if (last) this.#sendLast(text, encoding);
    else if (text.length > PIECE_BYTES) this.#sendLong(Buffer.from(text, encoding));
    else if (socket.write(text, encoding)) this.#next();
    else {
      this.deadline = performance.now() + this.#service.stallMsMax;
      socket.once("drain", () => this.#next());
    }
  }

  #sendLong(bytes: Buffer): void {
    this.#replyBytes = bytes.length;
    this.#service.replies.add(bytes.length);
    this.#startRate();
    this.#sendPieces(bytes, 0);
  }

  /** Sends in pieces, so that a slow reader of a long reply makes visible progress (C3). */
  #sendPieces(bytes: Buffer, from: number): void {
    const to = from + PIECE_BYTES;
    this.deadline = performance.now() + this.#service.stallMsMax;
    this.#readBytes = from;
    this.#socket.write(bytes.subarray(from, to), (error) => {
      if (error) return; // The client has disconnected.
      if (to < bytes.length) {
        this.#sendPieces(bytes, to);
        return;
      }
      this.#releaseReply();
      this.#next();
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
