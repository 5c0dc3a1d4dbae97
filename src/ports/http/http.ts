// Http: one request and its reply, without sockets. The listener (platform) creates the request and
// sends the reply; the broker's HTTP function in between sees nothing else.
//   H1. Header names are lower-case; a repeated header arrives joined by a comma.
//   H2. The body is complete, or `bodyTooLarge` is set because it was not read to its end. If the
//       handler requested a stream, `bodyStream` is set and `body` is empty.
//   H3. `headers` of a reply never contains content-length, connection or date: the listener writes
//       those.

export interface HttpRequest {
  /** Upper-case. */
  readonly method: string;
  /** As sent, still percent-encoded, without the query string; starts with a slash. */
  readonly path: string;
  /** The part after the question mark, still encoded; may be empty. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** The body exceeded the listener's limit and was dropped; `body` is then empty. */
  readonly bodyTooLarge: boolean;
  /** The body as it arrives, if the handler requested a stream; fails if the client disconnects. */
  readonly bodyStream?: AsyncIterable<Uint8Array>;
  /** The address of the client, if the listener knows it. */
  readonly remoteAddress?: string;
  /** Aborts when the client disconnects or the listener closes. */
  readonly signal: AbortSignal;
  /** A UUID of this request, returned to the client. */
  readonly requestId: string;
}

export interface HttpReply {
  readonly status: number;
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[];
  /** Text is sent as UTF-8. A stream is read no faster than the client receives it. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Length of a streamed body, or of the body that a HEAD reply omits. */
  readonly bodyBytes?: number;
  /** Closes the connection without a response. */
  readonly dropped?: true;
}

/** The part of a request that is known before its body. */
export type HttpHead = Pick<HttpRequest, "method" | "path" | "query" | "headers">;

export type HttpHandler = (request: HttpRequest) => Promise<HttpReply>;
