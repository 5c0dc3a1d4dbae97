// Raw exchange: sends bytes to a socket and reads bytes back, without an HTTP client that would
// correct them.

import { connect } from "node:net";
import type { Random } from "../../src/ports/random.ts";
import { patienceMs } from "../support/patience.ts";
import { mutateBytes } from "./mutations.ts";
import type { Draft } from "./sqs-requests.ts";
import type { Reply } from "./well-formed.ts";

/** A socket that is silent for this long is closed; that alone is not a failure. */
const SILENCE_MS_MAX = patienceMs(5_000);
const HEAD_END = "\r\n\r\n";

/** The request as bytes. With "close", it takes the listener's slow path. */
export function frame(draft: Draft, connection: "close" | "keep-alive"): Buffer {
  const target = draft.query === "" ? draft.path : `${draft.path}?${draft.query}`;
  // Other characters would break the request line, which another test covers.
  const line = `${draft.method} ${target.replace(/[^\x21-\x7e]/g, "%20")} HTTP/1.1`;
  const headers = Object.entries(draft.headers).map(([name, value]) => `${name}: ${value}`);
  const framing = [`content-length: ${draft.body.length}`, `connection: ${connection}`];
  const head = [line, ...headers, ...framing, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), draft.body]);
}

const GARBAGE = [
  "\r\n\r\n\r\n",
  "GET\r\n\r\n",
  "POST / HTTP/9.9\r\n\r\n",
  "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
  "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\nx",
  "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
  "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
  `POST / HTTP/1.1\r\n${"a: b\r\n".repeat(3_000)}\r\n`,
  `POST /${"a".repeat(70_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
];

/** Bytes that are not a complete request: noise, truncated requests, damaged heads. */
export function breakBytes(random: Random, complete: Buffer): Buffer {
  switch (random.below(4)) {
    case 0:
      return Buffer.from(GARBAGE[random.below(GARBAGE.length)] as string, "latin1");
    case 1:
      return Buffer.from(random.bytes(1 + random.below(2_000)));
    case 2:
      return complete.subarray(0, 1 + random.below(complete.length - 1));
    default:
      return mutateBytes(random, mutateBytes(random, complete));
  }
}

/** Sends the bytes and returns the response bytes up to the first complete reply or the close. */
export function exchange(port: number, bytes: Buffer, hangUp: boolean): Promise<Buffer> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const socket = connect({ port, host: "127.0.0.1" });
    socket.setTimeout(SILENCE_MS_MAX, () => socket.destroy());
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (isComplete(readReply(received))) socket.destroy();
    });
    // A reset by the server is acceptable; a separate check covers whether the server is alive.
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    if (hangUp) socket.end(bytes);
    else socket.write(bytes);
  });
}

function isComplete(reply: Reply | null): boolean {
  return (
    reply !== null && Buffer.byteLength(reply.body) === Number(reply.headers["content-length"])
  );
}

/** Parses the first reply; null if the bytes are not a reply. */
export function readReply(bytes: Buffer): Reply | null {
  const end = bytes.indexOf(HEAD_END);
  const [line = "", ...lines] = bytes
    .subarray(0, Math.max(0, end))
    .toString("latin1")
    .split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1];
  if (status === undefined) return null;
  const headers: Record<string, string> = {};
  for (const each of lines) {
    const colon = each.indexOf(":");
    headers[each.slice(0, colon).toLowerCase()] = each.slice(colon + 1).trim();
  }
  const start = end + HEAD_END.length;
  const length = Number(headers["content-length"] ?? bytes.length);
  const body = bytes.subarray(start, start + length).toString();
  return { status: Number(status), headers, body };
}
