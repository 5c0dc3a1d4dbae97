// Http: one request and its reply, without sockets. The listener (platform) makes the one and
// sends the other; the broker's HTTP function stands between and sees nothing else.
//   H1. Header names are lower-case; a header sent twice arrives joined by a comma.
//   H2. The body is complete, or `bodyTooLarge` says that it was not read to its end.
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
  /** Aborts when the client has gone away or the listener is closing. */
  readonly signal: AbortSignal;
  /** A UUID of this request, told to the client. */
  readonly requestId: string;
}

export interface HttpReply {
  readonly status: number;
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[];
  /** Text is sent as UTF-8. */
  readonly body: string | Uint8Array;
  /** There is no answer: the connection is closed instead. */
  readonly dropped?: true;
}

export type HttpHandler = (request: HttpRequest) => Promise<HttpReply>;
