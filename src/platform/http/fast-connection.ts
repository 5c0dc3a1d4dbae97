// Plain connection: one client's socket for as long as it sends plain requests and nothing else.
//   C1. One request at a time, in the order in which they came: what arrives meanwhile is kept, up
//       to AHEAD_BYTES_MAX, and then no more is read, not even that the client has left.
//   C2. The first bytes that are no plain request are put back, and the socket goes to node:http
//       for good, with nothing of ours attached and no answer outstanding.
//   C3. `deadline` is when the client is waited for no longer, be it for a request, for the rest of
//       one, or for taking the next piece of its reply; whoever lets it pass is cut off. While the
//       client waits for us there is none.
//   C4. A client that ends its side has gone, as with node:http: its request's signal aborts.

import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { HttpHandler, HttpHead, HttpReply, HttpRequest } from "../../ports/http.ts";
import { INTERNAL_ERROR, writeFastReply } from "./fast-reply.ts";
import { type FastHead, readFastHead } from "./fast-request.ts";

/** What a client may send before the former request is answered. */
const AHEAD_BYTES_MAX = 64 * 1_024;
/** Longer replies are written in pieces. */
const PIECE_BYTES = 64 * 1_024;

export interface FastService {
  readonly handler: HttpHandler;
  /** Whether a plain request is one of those that are answered by text. */
  readonly answersText: (head: HttpHead) => boolean;
  readonly bodyBytesMax: number;
  /** For the first bytes of a connection. */
  readonly headersMsMax: number;
  /** For the rest of a request. */
  readonly requestMsMax: number;
  /** For taking a piece of a reply. */
  readonly stallMsMax: number;
  /** For the next request. */
  readonly keepAliveMs: number;
  /** No more requests are taken on connections that have been answered. */
  readonly closing: () => boolean;
  readonly onError: (error: unknown) => void;
  /** Sent to a client that was too slow with a request. */
  readonly tooSlow: string;
  /** Sent to a client that ended its side within a request. */
  readonly broken: string;
  /** Takes a socket whose next bytes are not plain (C2). */
  readonly handOver: (socket: Socket) => void;
  /** The connection is over, or not ours any more. */
  readonly forget: (connection: FastConnection) => void;
}

/** Before the first request, between two, within one, at work on it, until its reply is taken. */
type Phase = "new" | "idle" | "reading" | "answering" | "replying";

export class FastConnection {
  place = -1;
  /** A reading of performance.now(), or Infinity (C3). */
  deadline: number;
  readonly #socket: Socket;
  readonly #service: FastService;
  #phase: Phase = "new";
  /** The request that is not yet whole, while "reading". */
  #head: FastHead | null = null;
  /** The request that is not yet answered, while "answering". */
  #exchange: PlainExchange | null = null;
  /** What has arrived of the next request. */
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(socket: Socket, service: FastService) {
    this.#socket = socket;
    this.#service = service;
    this.deadline = performance.now() + service.headersMsMax;
    socket.on("data", this.#arrived);
    socket.on("end", this.#ended);
    socket.on("error", ignore);
    socket.on("close", this.#closed);
  }

  /** Lets the request under way come to its end, and a connection without one end at once. */
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
    this.#kept.push(chunk);
    this.#keptBytes += chunk.length;
    if (this.#head !== null) {
      if (this.#keptBytes >= this.#head.bodyEnd) this.#start(this.#head, this.#takeKept());
    } else if (this.#keptBytes > AHEAD_BYTES_MAX) {
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
      this.#kept.push(bytes);
      this.#keptBytes = bytes.length;
      this.deadline = performance.now() + service.requestMsMax;
    }
  }

  #start(head: FastHead, bytes: Buffer): void {
    this.#phase = "answering";
    this.#head = null;
    if (bytes.length > head.bodyEnd) {
      this.#kept.push(bytes.subarray(head.bodyEnd));
      this.#keptBytes = bytes.length - head.bodyEnd;
    }
    this.deadline = Number.POSITIVE_INFINITY;
    const body = bytes.subarray(head.bodyStart, head.bodyEnd);
    const exchange = new PlainExchange(head, body, this.#socket);
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

  /** Piece by piece, so that whoever takes a long reply slowly is seen to take it (C3). */
  #sendPieces(bytes: Buffer, from: number): void {
    const to = from + PIECE_BYTES;
    this.deadline = performance.now() + this.#service.stallMsMax;
    this.#socket.write(bytes.subarray(from, to), (error) => {
      if (error) return; // The client has gone.
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
    if (this.#keptBytes === 0) return;
    const bytes = this.#takeKept();
    this.#socket.resume();
    this.#begin(bytes);
  }

  #takeKept(): Buffer {
    const [first] = this.#kept;
    const bytes = this.#kept.length === 1 ? (first as Buffer) : Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptBytes = 0;
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
  // Its end follows, and that is all there is to say of a client that has gone.
}

class PlainExchange implements HttpRequest {
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

  /** Made when it is first looked at, which few handlers do. */
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
