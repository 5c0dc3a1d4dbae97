// Raw connection: one keep-alive HTTP/1.1 connection that costs its process as little as possible,
// so that a benchmark measures the server and not the client.
//   R1. One request at a time: the next may be written only after the previous response.
//   R2. A request's bytes may be reused after its response, because the server has read them.
//   R3. A connection that ends resolves the open request, and every later one, with null: whether
//       the server carried it out is unknown.
//   R4. A reply's body is valid only while its callback runs; copy it to keep it.

import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

export type OnReply = (reply: Reply | null) => void;

export interface RawConnection {
  /** Writes `bytes` and calls back with the reply, or with null if the connection ended. */
  send(bytes: Uint8Array, onReply: OnReply): void;
  /** The same with a promise and a copied body, for paths that are not hot. */
  call(bytes: Uint8Array): Promise<Reply | null>;
  close(): void;
}

/** A larger reply is rejected: no response of SQS comes near it. */
const REPLY_BYTES_MAX = 64 * 1024 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;

/** Where a parsed reply ends, or null while bytes are missing. */
export interface ParsedReply extends Reply {
  readonly end: number;
}

/** Reads one reply from the start of `bytes`; null if it is not complete yet. */
export function parseReply(bytes: Buffer): ParsedReply | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = bytes.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const start = headEnd + HEAD_END.length;
  const length = LENGTH.exec(head);
  if (length !== null) {
    const end = start + Number(length[1]);
    if (bytes.length < end) return null;
    return { status, body: bytes.subarray(start, end), end };
  }
  if (CHUNKED.test(head)) return parseChunks(bytes, start, status);
  return { status, body: bytes.subarray(start, start), end: start };
}

function parseChunks(bytes: Buffer, start: number, status: number): ParsedReply | null {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return null;
    if (size === 0) return { status, body: Buffer.concat(parts), end: next };
    parts.push(bytes.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}

/** Opens a connection to a port of the loopback address. */
export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.removeAllListeners("error");
  return attach(socket);
}

function attach(socket: Socket): RawConnection {
  let waiting: OnReply | null = null;
  let partial: Buffer | null = null;
  let ended = false;

  function finish(reply: Reply | null): void {
    const onReply = waiting;
    waiting = null;
    onReply?.(reply);
  }
  function end(): void {
    if (ended) return;
    ended = true;
    socket.destroy();
    finish(null); // R3
  }
  socket.on("error", end);
  socket.on("close", end);
  socket.on("data", (chunk: Buffer) => {
    const bytes = partial === null ? chunk : Buffer.concat([partial, chunk]);
    const reply = parseReply(bytes);
    if (reply === null) {
      partial = bytes;
      if (bytes.length > REPLY_BYTES_MAX) end();
      return;
    }
    partial = reply.end < bytes.length ? bytes.subarray(reply.end) : null;
    finish(reply);
  });

  const connection: RawConnection = {
    send(bytes, onReply) {
      if (ended) return onReply(null);
      if (waiting !== null) throw new Error("a request is still waiting for its response"); // R1
      waiting = onReply;
      socket.write(bytes);
    },
    call: (bytes) =>
      new Promise((resolve) => {
        connection.send(bytes, (reply) =>
          resolve(reply && { status: reply.status, body: Buffer.from(reply.body) }),
        );
      }),
    close: end,
  };
  return connection;
}
