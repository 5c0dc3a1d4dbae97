// HTTP exchange: one request as the handler sees it. It is cheap to create: properties that few
// handlers use (the signal) are created on first use.
//   E1. `waitingSince` is set exactly while the server waits for the client, to send more of the
//       request or to read more of the reply. A client that takes too long is cut off.
//   E2. A client that sent Expect: 100-continue gets "100 Continue" when the handler reads the
//       body, and not before.
//   E3. A client that is still sending when it gets its reply has LINGER_MS_MAX to read the reply
//       and stop. Closing a socket with unread bytes resets it, and the reset can overtake the
//       reply.
//   E4. An admitted body counts until the handler has answered, or until the client disconnects
//       before the handler has the request. So does what a client has not read of a long reply.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HttpRequest } from "../../ports/http/http.ts";
import { type BodyBudget, ClientRate, type WaitingBody } from "./body-budget.ts";
import type { ReplyBuffer } from "./reply-buffer.ts";

/** How much of an oversized body is read and dropped, so that the client reads the reply. */
const DROPPED_BYTES_MAX = 16 * 1_024 * 1_024;
/** How long a client that has its reply may continue to send. */
const LINGER_MS_MAX = 2_000;
const EMPTY = new Uint8Array(0);

export class HttpExchange implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HttpRequest["headers"];
  readonly requestId: string = randomUUID();
  body: Uint8Array = EMPTY;
  bodyTooLarge = false;
  bodyStream?: AsyncIterable<Uint8Array>;
  /** In the time of performance.now(); null while the server does not wait (E1). */
  waitingSince: number | null = null;
  index = -1;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** The client waits for "100 Continue" (E2). */
  #expectsContinue: boolean;
  #abort: AbortController | null = null;
  #aborted = false;
  #bodies: BodyBudget | null = null;
  #waiting: WaitingBody | null = null;
  #admittedBytes = 0;
  #isHandled = false;
  #replyBytes = 0;
  /** Bytes received or sent in pieces so far, for the rate of the client. */
  #movedBytes = 0;
  readonly #rate = new ClientRate();

  constructor(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) {
    const target = originForm(request.url ?? "/");
    const mark = target.indexOf("?");
    this.method = request.method ?? "GET";
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = mark === -1 ? "" : target.slice(mark + 1);
    // Only set-cookie is ever a list, and requests do not have it.
    this.headers = request.headers as HttpRequest["headers"];
    this.#request = request;
    this.#response = response;
    this.#expectsContinue = expectsContinue;
  }

  get signal(): AbortSignal {
    if (this.#abort !== null) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    if (this.#aborted || this.#response.destroyed) abort.abort();
    else this.#watchClient(this.#request.socket);
    return abort.signal;
  }

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? "";
  }

  abort(): void {
    this.#aborted = true;
    this.#abort?.abort();
  }

  /** Calls `start` once the body is admitted; false if it cannot even wait. */
  admit(bodies: BodyBudget, bytes: number, start: () => void): boolean {
    this.#bodies = bodies;
    const admitted = () => {
      this.#waiting = null;
      this.#admittedBytes = bytes;
      this.#rate.start(performance.now());
      start();
    };
    if (bodies.tryAdmit(bytes)) {
      admitted();
      return true;
    }
    this.#waiting = bodies.wait(bytes, admitted);
    return this.#waiting !== null;
  }

  /** The handler has the request; its body counts until answered() (E4). */
  handled(): void {
    this.#isHandled = true;
  }

  answered(): void {
    this.#isHandled = false;
    this.#releaseBody();
  }

  /** The connection has closed, or the reply is complete. */
  closed(): void {
    if (this.#waiting !== null) this.#bodies?.cancel(this.#waiting);
    this.#waiting = null;
    if (!this.#isHandled) this.#releaseBody(); // E4
  }

  #releaseBody(): void {
    const bytes = this.#admittedBytes;
    this.#admittedBytes = 0;
    if (bytes > 0) this.#bodies?.release(bytes);
  }

  /** Whether the client takes memory that others wait for, and is slow (A4 of body-budget.ts). */
  isInTheWay(now: number, replies: ReplyBuffer): boolean {
    if (this.waitingSince === null) return false;
    if (this.#admittedBytes > 0 && !this.#request.complete) {
      return this.#rate.isSlow(now, this.#movedBytes) && this.#bodies?.isContended === true;
    }
    return this.#replyBytes > 0 && this.#rate.isSlow(now, this.#movedBytes) && replies.isFull;
  }

  /** Sends a long reply in pieces; `replies` counts it until the client has read it (E4). */
  async sendLong(pieces: Iterable<Uint8Array>, bytes: number, replies: ReplyBuffer): Promise<void> {
    replies.add(bytes);
    this.#replyBytes = bytes;
    this.#movedBytes = 0;
    this.#rate.start(performance.now());
    try {
      for (const piece of pieces) await this.send(piece);
    } finally {
      this.#replyBytes = 0;
      replies.remove(bytes);
    }
    await this.end("");
  }

  /** Calls `done` once the body is complete or too long; never if the client disconnects first. */
  readBody(bytesMax: number, done: () => void): void {
    const request = this.#request;
    let chunks: Buffer[] = [];
    let arrivedBytes = 0;
    let finished = false;
    this.#sendContinue();
    this.waitingSince = performance.now();
    request.on("data", (chunk: Buffer) => {
      arrivedBytes += chunk.length;
      this.#movedBytes = arrivedBytes;
      if (arrivedBytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks = [];
      this.bodyTooLarge = true;
      if (arrivedBytes > DROPPED_BYTES_MAX && !finished) {
        finished = true;
        this.waitingSince = null;
        request.pause();
        done();
      }
    });
    request.once("end", () => {
      if (finished) return;
      finished = true;
      this.waitingSince = null;
      if (!this.bodyTooLarge && chunks.length > 0) {
        this.body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      }
      done();
    });
  }

  /** Passes the body on as it arrives. */
  streamBody(): void {
    this.bodyStream = this.#chunks();
  }

  /** Reads the rest of the body, so that a client that is still sending reads the reply. */
  async dropRest(): Promise<void> {
    if (this.#expectsContinue || this.#request.readableEnded) return;
    let dropped = 0;
    try {
      for await (const chunk of this.#chunks()) {
        dropped += chunk.length;
        if (dropped > DROPPED_BYTES_MAX) return;
      }
    } catch {
      // The client has disconnected, so there is no one to answer.
    }
  }

  /** Resolves once the system has accepted a chunk of the reply, or the client has disconnected. */
  async send(chunk: Uint8Array): Promise<void> {
    const response = this.#response;
    if (response.destroyed) return;
    this.waitingSince = performance.now();
    await new Promise<void>((resolve) => {
      const done = () => {
        response.off("close", done);
        resolve();
      };
      response.on("close", done);
      response.write(chunk, done);
    });
    this.#movedBytes += chunk.length;
    this.waitingSince = null;
  }

  /**
   * Sends the end of the reply; closes the connection if the request is incomplete. Returns null if
   * there is nothing to wait for.
   */
  end(last: string | Uint8Array): Promise<void> | null {
    const request = this.#request;
    const response = this.#response;
    if (request.complete || this.#expectsContinue || response.destroyed) {
      response.end(last);
      return response.socket?.writableLength ? this.#untilRead() : null;
    }
    return this.#endEarly(last);
  }

  /** Until the system has accepted the last bytes: a client that reads none is cut off (E1). */
  async #untilRead(): Promise<void> {
    const response = this.#response;
    this.waitingSince = performance.now();
    await new Promise<void>((resolve) => {
      response.once("finish", resolve);
      response.once("close", resolve);
    });
    this.waitingSince = null;
  }

  async #endEarly(last: string | Uint8Array): Promise<void> {
    const response = this.#response;
    response.flushHeaders();
    response.write(last);
    await this.#linger();
    response.end();
  }

  /** Reads and drops what a client sends after its reply, for a limited time (E3). */
  async #linger(): Promise<void> {
    const request = this.#request;
    const response = this.#response;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        request.off("end", done);
        response.off("close", done);
        resolve();
      };
      const timer = setTimeout(done, LINGER_MS_MAX);
      request.on("end", done);
      response.on("close", done);
      request.resume();
    });
  }

  /** Cuts off a client that took too long (E1). */
  cut(refusal: string): void {
    const { socket } = this.#request;
    this.waitingSince = null;
    if (this.#response.headersSent) socket.destroy();
    else socket.end(refusal, () => socket.destroy());
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    this.#sendContinue();
    const chunks = this.#request.iterator({ destroyOnReturn: false });
    try {
      for (;;) {
        this.waitingSince = performance.now();
        const next = await chunks.next();
        this.waitingSince = null;
        if (next.done === true) return;
        const chunk = next.value as Buffer;
        this.#movedBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      this.abort();
      throw error;
    } finally {
      this.waitingSince = null;
      await chunks.return?.();
    }
  }

  #sendContinue(): void {
    if (this.#expectsContinue) this.#response.writeContinue(); // E2
    this.#expectsContinue = false;
  }

  /** The end of the socket comes before "close" (C4 of fast-connection.ts). */
  #watchClient(socket: Socket): void {
    const gone = () => this.#clientGone();
    socket.once("end", gone);
    this.#response.once("close", () => {
      socket.off("end", gone);
      gone();
    });
  }

  #clientGone(): void {
    if (!this.#response.writableFinished) this.abort();
  }
}

/** A proxy's client may send a full URL; any other target without a slash is the root. */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const path = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? "/";
  return path.startsWith("/") ? path : `/${path}`;
}
