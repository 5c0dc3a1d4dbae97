import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeAwsChunked } from "./aws-chunked.ts";
import { BodyFault } from "./body-fault.ts";

async function* cut(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const positions = [...new Set(cuts.map((position) => position % (bytes.length + 1)))];
  const edges = [0, ...positions.sort((a, b) => a - b), bytes.length];
  for (const [index, edge] of edges.slice(1).entries()) {
    yield new Uint8Array(bytes.subarray(edges[index], edge));
  }
}

async function decode(bytes: Buffer, cuts: readonly number[] = []) {
  const trailers = new Map<string, string>();
  const chunks: Uint8Array[] = [];
  for await (const chunk of decodeAwsChunked(cut(bytes, cuts), trailers)) chunks.push(chunk);
  return { data: Buffer.concat(chunks), trailers: Object.fromEntries(trailers) };
}

function encode(chunks: readonly Uint8Array[], signed: boolean, trailer: string): Buffer {
  const suffix = signed ? `;chunk-signature=${"0".repeat(64)}` : "";
  const framed = chunks
    .filter(({ length }) => length > 0)
    .flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}${suffix}\r\n`),
      chunk,
      Buffer.from("\r\n"),
    ]);
  return Buffer.concat([...framed, Buffer.from(`0${suffix}\r\n${trailer}\r\n`)]);
}

test("a body in any chunks is decoded completely, however the network splits it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 6 }),
      fc.boolean(),
      fc.array(fc.nat(1_000), { maxLength: 10 }),
      async (chunks, signed, cuts) => {
        const trailer = "x-amz-checksum-crc32:AAAAAA==\r\nX-Other: a:b \r\n";
        const { data, trailers } = await decode(encode(chunks, signed, trailer), cuts);
        expect(data.equals(Buffer.concat(chunks))).toBe(true);
        expect(trailers).toEqual({ "x-amz-checksum-crc32": "AAAAAA==", "x-other": "a:b" });
      },
    ),
  );
});

test("a body without the last line end is complete", async () => {
  const { data } = await decode(Buffer.from("5\r\nhello\r\n0\r\n"));
  expect(data.toString()).toBe("hello");
});

test.each([
  ["nothing", ""],
  ["an invalid size", "zz\r\nhello\r\n0\r\n\r\n"],
  ["an impossibly large size", `${"f".repeat(20)}\r\n`],
  ["fewer bytes than declared", "a\r\nhello"],
  ["more bytes than declared", "2\r\nhello\r\n0\r\n\r\n"],
  ["no last chunk", "5\r\nhello\r\n"],
  ["an unterminated line", "1".repeat(20_000)],
])("a body with %s is incomplete", async (_, text) => {
  const fault = await decode(Buffer.from(text)).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(BodyFault);
  expect((fault as BodyFault).fault.code).toBe("IncompleteBody");
});

test.each([
  ["without a value", "0\r\nwhat\r\n\r\n"],
  ["without a name", "0\r\n:what\r\n\r\n"],
  ["without end", `0\r\n${"a:b\r\n".repeat(50)}\r\n`],
])("trailers %s are malformed", async (_, text) => {
  const fault = await decode(Buffer.from(text)).catch((error: unknown) => error);
  expect(fault).toMatchObject({ fault: { code: "MalformedTrailerError" } });
});
