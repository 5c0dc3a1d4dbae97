import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { S3Client } from "@aws-sdk/client-s3";
import { afterEach, expect, test } from "vitest";
import { createS3ObjectSource } from "../../src/aws/s3/s3-object-source.ts";
import type { Cloud } from "../../src/cloud/start-cloud.ts";
import { describeObjectSource, s3ClientOf } from "./object-source.ts";

const clients: S3Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
/** With two connections, a transfer that is not ended would soon block all others. */
function sourceOf(cloud: Cloud) {
  const client = s3ClientOf(cloud, 2);
  clients.push(client);
  return createS3ObjectSource({ client });
}

describeObjectSource({ name: "through the AWS SDK", open: sourceOf });

describeObjectSource({
  name: "through the AWS SDK, with an event that says that the object is small",
  holdsBytes: true,
  open(cloud) {
    const source = sourceOf(cloud);
    return { open: (pin, signal) => source.open({ ...pin, expectedBytes: 1 }, signal) };
  },
});

const PIN = { bucket: "b", key: "k", versionId: null, etag: null };

/** A server with scripted answers, and the source that reads from it. */
async function serve(answer: RequestListener) {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    source: sourceOf({ endpoint: `http://127.0.0.1:${port}` } as Cloud),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refusing(code: string): RequestListener {
  return ({ method }, response) => {
    response.writeHead(403, { "content-type": "application/xml" });
    const error = `<Error><Code>${code}</Code><Message>No</Message></Error>`;
    response.end(method === "HEAD" ? "" : error);
  };
}

test("a 403 of S3 is reported as forbidden, since only the caller can judge it", async () => {
  await using server = await serve(refusing("AccessDenied"));
  expect(await server.source.open(PIN, new AbortController().signal)).toEqual({
    kind: "forbidden",
    reason: "AccessDenied: No",
  });
});

test.each(["RequestTimeTooSkewed", "ExpiredToken"])(
  "%s says nothing about the object: the read is retried",
  async (code) => {
    await using server = await serve(refusing(code));
    const opening = server.source.open(PIN, new AbortController().signal);
    await expect(opening).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
  },
);

test("a stream that is closed while it waits for bytes releases its connection", async () => {
  const gone = Promise.withResolvers<void>();
  await using server = await serve(({ method }, response) => {
    response.writeHead(200, { "content-length": 10, etag: '"e"' });
    if (method === "HEAD") response.end();
    else response.once("close", () => gone.resolve()).write("half ");
  });
  const opened = await server.source.open(PIN, new AbortController().signal);
  if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
  const closing = new AbortController();
  const stream = opened.bytes.stream(closing.signal)[Symbol.asyncIterator]();
  await stream.next();
  const rest = stream.next();
  closing.abort(new Error("not needed"));
  await expect(rest).rejects.toThrow("not needed");
  await gone.promise;
});

const SMALL = { ...PIN, expectedBytes: 5 };
const never = new AbortController().signal;

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) {
    all.push(chunk.slice());
    chunk.fill(0); // A reader may change what it gets.
  }
  return Buffer.concat(all).toString();
}

test("a small object is opened and read by one request, and reads the same again", async () => {
  const methods: (string | undefined)[] = [];
  await using server = await serve(({ method }, response) => {
    methods.push(method);
    response.writeHead(200, { "content-length": 5, etag: '"e"' });
    response.end("bytes");
  });
  const opened = await server.source.open(SMALL, never);
  if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
  expect([await textOf(opened.bytes.stream(never)), await textOf(opened.bytes.stream(never))]) //
    .toEqual(["bytes", "bytes"]);
  expect(Buffer.from(await opened.bytes.range(1, 3, never)).toString()).toBe("yt");
  expect(opened).toMatchObject({ etag: "e", bufferedBytes: 5 });
  expect(methods).toEqual(["GET"]);
});

test("an object that is larger than its event says is not held in memory", async () => {
  const size = 1_000_000;
  await using server = await serve((_, response) => {
    response.writeHead(200, { "content-length": size, etag: '"e"' });
    response.end(Buffer.alloc(size, "a"));
  });
  const opened = await server.source.open(SMALL, never);
  if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
  expect(opened.bufferedBytes).toBeUndefined();
  expect((await textOf(opened.bytes.stream(never))).length).toBe(size);
});

test("where GET is rejected and HEAD is not, the object is opened as before", async () => {
  await using server = await serve(({ method }, response) => {
    if (method === "GET") return refusing("InvalidObjectState")({ method } as never, response);
    response.writeHead(200, { "content-length": 5, etag: '"e"' });
    response.end();
  });
  const opened = await server.source.open(SMALL, never);
  if (opened.kind !== "opened") throw new Error(`it is ${opened.kind}`);
  expect(opened.bufferedBytes).toBeUndefined();
  const reading = textOf(opened.bytes.stream(never));
  await expect(reading).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
});

test("a small object whose bytes stop coming is not opened", async () => {
  await using server = await serve(({ method }, response) => {
    response.writeHead(200, { "content-length": 5, etag: '"e"' });
    if (method === "HEAD") response.end();
    else response.write("half", () => response.destroy());
  });
  const opening = server.source.open(SMALL, never);
  await expect(opening).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
});
