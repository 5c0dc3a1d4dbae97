import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openConnection, parseReply } from "../../bench/broker/raw-connection.ts";

const PLAIN = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello";
const CHUNKED =
  "HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that answers each request with the given pieces, or hangs up when there are none. */
async function answering(pieces: readonly string[]): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", () => {
      if (pieces.length === 0) socket.destroy();
      for (const piece of pieces) socket.write(piece);
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each([
  ["with its length", PLAIN, 200],
  ["in chunks", CHUNKED, 503],
])("a reply %s is read once it is complete, and not before", (_how, text, status) => {
  for (let cut = 0; cut < text.length; cut += 1) {
    expect(parseReply(Buffer.from(text.slice(0, cut)))).toBeNull();
  }
  const reply = parseReply(Buffer.from(`${text}HTTP/1.1`));
  expect(reply?.status).toBe(status);
  expect(reply?.body.toString()).toBe("hello");
  expect(reply?.end).toBe(text.length);
});

test("requests of one connection are answered one after another", async () => {
  const connection = await openConnection(await answering([PLAIN.slice(0, 30), PLAIN.slice(30)]));
  for (let index = 0; index < 3; index += 1) {
    const reply = await connection.call(Buffer.from("x"));
    expect(reply?.body.toString()).toBe("hello");
  }
  connection.close();
});

test("a connection that ends resolves the open request, and later ones, with null", async () => {
  const connection = await openConnection(await answering([]));
  expect(await connection.call(Buffer.from("x"))).toBeNull();
  expect(await connection.call(Buffer.from("x"))).toBeNull();
});

test("a second request before the response is rejected", async () => {
  const connection = await openConnection(await answering([PLAIN.slice(0, 5)]));
  const open = connection.call(Buffer.from("x"));
  expect(() => connection.send(Buffer.from("y"), () => {})).toThrow("still waiting");
  connection.close();
  expect(await open).toBeNull();
});
