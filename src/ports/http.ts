// Http: one request and its reply, without sockets. The listener (platform) makes the one and
// sends the other; the broker's HTTP function stands between and sees nothing else.
//   H1. Header names are lower-case; a header sent twice arrives joined by a comma.
//   H2. The body is complete, or `bodyTooLarge` says that it was not read to its end; or it is a
//       stream, if the handler wanted one, and then `body` is empty.
//   H3. `headers` of a reply never holds content-length, connection or date: those are the
//       listener's to write.

export interface HttpRequest {
  /** Upper-case. */
  readonly method: string;
  /** As sent, still percent-encoded, without the query string; begins with a slash. */
  readonly path: string;
  /** What follows the question mark, still encoded; empty when there is none. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** The body went over the listener's limit and was dropped; `body` is then empty. */
  readonly bodyTooLarge: boolean;
  /** The body as it arrives, for those who asked for it; it fails when the client goes away. */
  readonly bodyStream?: AsyncIterable<Uint8Array>;
  /** Where the client is, as far as the listener knows. */
  readonly remoteAddress?: string;
  /** Aborts when the client has gone away or the listener is closing. */
  readonly signal: AbortSignal;
  /** A UUID of this request, told to the client. */
  readonly requestId: string;
}

export interface HttpReply {
  readonly status: number;
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[];
  /** Text is sent as UTF-8. A stream is read no faster than the client takes it. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Length of a streamed body, or of the one that a HEAD leaves out. */
  readonly bodyBytes?: number;
  /** There is no answer: the connection is closed instead. */
  readonly dropped?: true;
}

/** What is known of a request before its body. */
export type HttpHead = Pick<HttpRequest, "method" | "path" | "query" | "headers">;

export type HttpHandler = (request: HttpRequest) => Promise<HttpReply>;
