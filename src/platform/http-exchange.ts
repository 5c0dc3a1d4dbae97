// HTTP exchange: one request as the handler sees it, made as cheaply as can be: what few handlers
// look at (the signal) comes into being when it is looked at.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "../ports/http.ts";

/** How much of a body that is too long is read and dropped, so that the client reads the answer. */
const DROPPED_BYTES_MAX = 16 * 1_024 * 1_024;
const EMPTY = new Uint8Array(0);

export class HttpExchange implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HttpRequest["headers"];
  readonly requestId: string = randomUUID();
  body: Uint8Array = EMPTY;
  bodyTooLarge = false;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #abort: AbortController | null = null;
  #aborted = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    const target = originForm(request.url ?? "/");
    const mark = target.indexOf("?");
    this.method = request.method ?? "GET";
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = mark === -1 ? "" : target.slice(mark + 1);
    // Only set-cookie is ever a list, and it is no request's header.
    this.headers = request.headers as HttpRequest["headers"];
    this.#request = request;
    this.#response = response;
  }

  get signal(): AbortSignal {
    if (this.#abort !== null) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    if (this.#aborted || this.#response.destroyed) abort.abort();
    else this.#response.once("close", () => this.#clientLeft());
    return abort.signal;
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
        request.pause();
        done();
      }
    });
    request.once("end", () => {
      if (handedOn) return;
      handedOn = true;
      if (!this.bodyTooLarge && chunks.length > 0) {
        this.body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      }
      done();
    });
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
