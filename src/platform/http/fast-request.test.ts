import { expect, test } from "vitest";
import { readFastHead } from "./fast-request.ts";

const BODY_BYTES_MAX = 1_000;
const LINE = "POST /q?a=b HTTP/1.1";

function read(...lines: readonly string[]) {
  return readFastHead(Buffer.from(`${lines.join("\r\n")}\r\n\r\nbody`, "latin1"), BODY_BYTES_MAX);
}

test("a simple request is parsed: target, headers by lower-case name, offsets of the body", () => {
  const lines = [LINE, "Host: a", "X-Amz-Target:AmazonSQS.X", "Content-Length: \t4 ", "X-None:"];
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\nbody and more`);
  const head = readFastHead(bytes, BODY_BYTES_MAX);
  expect(head).toMatchObject({ method: "POST", path: "/q", query: "a=b" });
  expect({ ...head?.headers }).toEqual({
    host: "a",
    "x-amz-target": "AmazonSQS.X",
    "content-length": "4",
    "x-none": "",
  });
  expect(bytes.toString("latin1", head?.bodyStart, head?.bodyEnd)).toBe("body");
});

test("a header named __proto__ is an ordinary header", () => {
  const head = read(LINE, "Host: a", "Content-Length: 0", "__proto__: x");
  expect(Object.getPrototypeOf(head?.headers)).toBe(null);
  expect(head?.headers).toHaveProperty(["__proto__"], "x");
});

test.each([
  ["another method", "GET / HTTP/1.1", "Host: a", "Content-Length: 0"],
  ["another version", "POST / HTTP/1.0", "Host: a", "Content-Length: 0"],
  ["a whole URL", "POST http://a/ HTTP/1.1", "Host: a", "Content-Length: 0"],
  ["a fragment", "POST /#a HTTP/1.1", "Host: a", "Content-Length: 0"],
  ["two spaces", "POST  / HTTP/1.1", "Host: a", "Content-Length: 0"],
  ["a byte beyond ASCII in the target", "POST /\xe9 HTTP/1.1", "Host: a", "Content-Length: 0"],
  ["no host", LINE, "Content-Length: 0"],
  ["no length", LINE, "Host: a"],
  ["a length that is not a number", LINE, "Host: a", "Content-Length: 0x1"],
  ["a signed length", LINE, "Host: a", "Content-Length: +1"],
  ["two lengths", LINE, "Host: a", "Content-Length: 1", "content-length: 1"],
  ["two values in a length", LINE, "Host: a", "Content-Length: 1, 1"],
  ["two hosts", LINE, "Host: a", "Host: b", "Content-Length: 0"],
  ["a repeated header", LINE, "Host: a", "X-A: 1", "x-a: 1", "Content-Length: 0"],
  ["a repeated empty header", LINE, "Host: a", "X-A:", "x-a:", "Content-Length: 0"],
  ["a body beyond the limit", LINE, "Host: a", `Content-Length: ${BODY_BYTES_MAX + 1}`],
  ["chunks", LINE, "Host: a", "Content-Length: 0", "Transfer-Encoding: chunked"],
  ["an expectation", LINE, "Host: a", "Content-Length: 0", "Expect: 100-continue"],
  ["an upgrade", LINE, "Host: a", "Content-Length: 0", "Upgrade: h2c"],
  ["a connection to close", LINE, "Host: a", "Content-Length: 0", "Connection: close"],
  ["more than keep-alive", LINE, "Host: a", "Content-Length: 0", "Connection: keep-alive, te"],
  ["a proxy's connection", LINE, "Host: a", "Content-Length: 0", "Proxy-Connection: close"],
  ["a folded line", LINE, "Host: a", "X-A: 1", " 2", "Content-Length: 0"],
  ["a space before the colon", LINE, "Host: a", "Content-Length : 0"],
  ["a line without a colon", LINE, "Host: a", "Content-Length: 0", "X"],
  ["a header without a name", LINE, "Host: a", "Content-Length: 0", ": x"],
  ["a bare line feed", LINE, "Host: a\nX: y", "Content-Length: 0"],
  ["a bare carriage return", LINE, "Host: a\rX: y", "Content-Length: 0"],
  ["a control character", LINE, "Host: a\x00", "Content-Length: 0"],
  ["a byte beyond ASCII in a value", LINE, "Host: a", "X-A: \xa0", "Content-Length: 0"],
  ["a head that is too long", LINE, "Host: a", `X: ${"x".repeat(9_000)}`, "Content-Length: 0"],
])("%s is not simple (P1)", (_, ...lines) => {
  expect(read(...lines)).toBe(null);
});

test("an incomplete head is not simple, wherever it ends (P1)", () => {
  const bytes = Buffer.from(`${LINE}\r\nHost: a\r\nContent-Length: 4\r\n\r\n`);
  for (let end = 0; end < bytes.length; end += 1) {
    expect(readFastHead(bytes.subarray(0, end), BODY_BYTES_MAX)).toBe(null);
  }
  expect(readFastHead(bytes, BODY_BYTES_MAX)).toMatchObject({ bodyEnd: bytes.length + 4 });
});
