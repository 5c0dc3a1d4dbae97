// HTTP exchange: one request as the handler sees it, made as cheaply as can be: what few handlers
// look at (the signal) comes into being when it is looked at.
//   E1. `waitingSince` is set exactly while the exchange waits for its client, be it for bytes of
//       the request or for room for those of the reply; whoever is waited for too long is cut off.
//   E2. A client that asked before sending (Expect: 100-continue) is told to go on when somebody
//       wants its body, and not before.
//   E3. A client that is still sending when it is answered gets LINGER_MS_MAX to read the answer
//       and stop. A socket closed over bytes that nobody read is reset, and a reset can overtake
//       the answer, which the client then never sees.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "../../ports/http.ts";

/** How much of a body that is too long is read and dropped, so that the client reads the answer. */
const DROPPED_BYTES_MAX = 16 * 1_024 * 1_024;
/** For how long a client that has its answer may go on sending. */
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
  /** A reading of performance.now(), or null while nobody waits (E1). */
  waitingSince: number | null = null;
  place = -1;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** The client waits to be told to go on (E2). */
  #asks: boolean;
  #abort: AbortController | null = null;
  #aborted = false;

  constructor(request: IncomingMessage, response: ServerResponse, asks: boolean) {
    const target = originForm(request.url ?? "/");
    const mark = target.indexOf("?");
    this.method = request.method ?? "GET";
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = mark === -1 ? "" : target.slice(mark + 1);
    // Only set-cookie is ever a list, and it is no request's header.
    this.headers = request.headers as HttpRequest["headers"];
    this.#request = request;
    this.#response = response;
    this.#asks = asks;
  }

  get signal(): AbortSignal {
    if (this.#abort !== null) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    if (this.#aborted || this.#response.destroyed) abort.abort();
    else this.#response.once("close", () => this.#clientLeft());
    return abort.signal;
  }

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? "";
  }

  abort(): void {
    this.#aborted = true;
    this.#abort?.abort();
  }

  /** Calls `done` once the body has arrived whole or is known to be too long; else never. */
  readBody(bytesMax: number, done: () => void): void {
    const request = this.#request;
    let chunks: Buffer[] = [];
    let arrivedBytes = 0;
    let handedOn = false;
    this.#goOn();
    this.waitingSince = performance.now();
    request.on("data", (chunk: Buffer) => {
      arrivedBytes += chunk.length;
      if (arrivedBytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks = [];
      this.bodyTooLarge = true;
      if (arrivedBytes > DROPPED_BYTES_MAX && !handedOn) {
        handedOn = true;
        this.waitingSince = null;
        request.pause();
        done();
      }
    });
    request.once("end", () => {
      if (handedOn) return;
      handedOn = true;
      this.waitingSince = null;
      if (!this.bodyTooLarge && chunks.length > 0) {
        this.body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      }
      done();
    });
  }

  /** Hands the body on as it arrives. */
  streamBody(): void {
    this.bodyStream = this.#chunks();
  }

  /** Reads on where the handler stopped, so that a client that is still sending reads the reply. */
  async dropRest(): Promise<void> {
    if (this.#asks || this.#request.readableEnded) return;
    let dropped = 0;
    try {
      for await (const chunk of this.#chunks()) {
        dropped += chunk.length;
        if (dropped > DROPPED_BYTES_MAX) return;
      }
    } catch {
      // The client has gone; there is nobody to answer.
    }
  }

  /** Resolves once the system has taken a chunk of the reply, or the client has gone. */
  async send(chunk: Uint8Array): Promise<void> {
    const response = this.#response;
    if (response.destroyed) return;
    this.waitingSince = performance.now();
    await new Promise<void>((resolve) => {
      const settle = () => {
        response.off("close", settle);
        resolve();
      };
      response.on("close", settle);
      response.write(chunk, settle);
    });
    this.waitingSince = null;
  }

  /**
   * Sends the last of the reply; the connection is closed after it if the request is not over. Null
   * when there is nothing to wait for.
   */
  end(last: string | Uint8Array): Promise<void> | null {
    const request = this.#request;
    const response = this.#response;
    if (request.complete || this.#asks || response.destroyed) {
      response.end(last);
      return null;
    }
    return this.#endEarly(last);
  }

  async #endEarly(last: string | Uint8Array): Promise<void> {
    const response = this.#response;
    response.flushHeaders();
    response.write(last);
    await this.#linger();
    response.end();
  }

  /** Reads and drops what a client sends after its answer, for a while (E3). */
  async #linger(): Promise<void> {
    const request = this.#request;
    const response = this.#response;
    await new Promise<void>((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        request.off("end", settle);
        response.off("close", settle);
        resolve();
      };
      const timer = setTimeout(settle, LINGER_MS_MAX);
      request.on("end", settle);
      response.on("close", settle);
      request.resume();
    });
  }

  /** Cuts a client off that was waited for too long (E1). */
  cut(refusal: string): void {
    const { socket } = this.#request;
    this.waitingSince = null;
    if (this.#response.headersSent) socket.destroy();
    else socket.end(refusal, () => socket.destroy());
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    this.#goOn();
    const chunks = this.#request.iterator({ destroyOnReturn: false });
    try {
      for (;;) {
        this.waitingSince = performance.now();
        const next = await chunks.next();
        this.waitingSince = null;
        if (next.done === true) return;
        yield next.value as Buffer;
      }
    } catch (error) {
      this.abort();
      throw error;
    } finally {
      this.waitingSince = null;
      await chunks.return?.();
    }
  }

  #goOn(): void {
    if (this.#asks) this.#response.writeContinue(); // E2
    this.#asks = false;
  }

  #clientLeft(): void {
    if (!this.#response.writableFinished) this.abort();
  }
}

/** A proxy's client may send a whole URL; all else that does not begin with a slash is the root. */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const path = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? "/";
  return path.startsWith("/") ? path : `/${path}`;
}
