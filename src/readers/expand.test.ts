import { randomBytes } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { collect, readAll, refusalOf, sourceOf } from "../../test/support/byte-sources.ts";
import { ByteCursor } from "./byte-cursor.ts";
import { type Compression, compressionOf, expand } from "./expand.ts";

const signal = new AbortController().signal;
const PACKERS = { gzip: gzipSync, zstd: zstdCompressSync };
const BOTH = ["gzip", "zstd"] as const;

async function unpack(bytes: Uint8Array, kind: Compression, lengths?: readonly number[]) {
  const cursor = new ByteCursor(sourceOf(bytes, lengths).stream(signal));
  return Buffer.concat(await collect(expand(cursor, kind, "a")));
}

describe.each(BOTH)("%s", (kind) => {
  const packer = (text: string | Uint8Array): Buffer => PACKERS[kind](text);

  test("all members are read, though they end inside one chunk", async () => {
    const packed = Buffer.concat(["one,", "", "two,", "three"].map(packer));
    for (const lengths of [[65_536], [1], [7, 30]]) {
      expect((await unpack(packed, kind, lengths)).toString()).toBe("one,two,three");
    }
  });

  test("many small members after one another are all read", async () => {
    const packed = Buffer.concat(Array.from({ length: 500 }, (_, index) => packer(`${index};`)));
    expect((await unpack(packed, kind)).toString().split(";")).toHaveLength(501);
  });

  test("truncated data is rejected, wherever it is cut", async () => {
    const text = randomBytes(300).toString("hex");
    const packed = Buffer.concat([packer(text), packer(text)]);
    const border = packer(text).length;
    for (let end = 5; end < packed.length; end += 3) {
      if (end === border) continue;
      await expect(unpack(packed.subarray(0, end), kind)).rejects.toMatchObject({
        code: "TG_OBJECT_UNREADABLE",
        message: expect.stringContaining(`its ${kind} data cannot be expanded`),
      });
    }
  });

  test("trailing data after the last member is rejected", async () => {
    const packed = Buffer.concat([packer("x\n1\n"), Buffer.from("and so on")]);
    for (const lengths of [[65_536], [1]]) {
      expect(await refusalOf(packed, { name: "a.csv", lengths })).toContain("a.csv: its");
    }
  });

  test("a decompression bomb is rejected at the limit of expanded bytes", async () => {
    const bomb = packer(Buffer.alloc(50_000_000, "x\n"));
    const limits = { expandedBytesMax: 1_048_576 };
    expect(await refusalOf(bomb, { name: "a.csv", limits })).toBe(
      "a.csv: has more than 1 MiB when expanded",
    );
  });

  test("nothing is fed to the decoder while its output is not read", async () => {
    const source = sourceOf(packer(randomBytes(4_000_000)), [65_536]);
    let pulled = 0;
    async function* counted() {
      for await (const chunk of source.stream(signal)) {
        pulled += chunk.length;
        yield chunk;
      }
    }
    const output = expand(new ByteCursor(counted()), kind, "a");
    await output.next();
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    expect(pulled).toBeLessThan(1_000_000);
    await output.return(undefined);
  });
});

test("gzip data that does not match its checksum is rejected", async () => {
  const packed = gzipSync("x".repeat(2_000));
  packed.writeUInt8(packed.readUInt8(packed.length - 5) ^ 1, packed.length - 5);
  await expect(unpack(packed, "gzip")).rejects.toThrow("cannot be expanded");
});

test("zeros after gzip data are padding; a member behind them is not skipped", async () => {
  const padded = Buffer.concat([gzipSync("x\n1\n"), Buffer.alloc(1_000)]);
  expect(await readAll(padded, { name: "a.csv" })).toHaveLength(1);
  const hidden = Buffer.concat([padded, gzipSync("2\n")]);
  for (const lengths of [[65_536], [10]]) {
    expect(await refusalOf(hidden, { name: "a.csv", lengths })).toBe(
      "a.csv: its gzip data is followed by other data",
    );
  }
});

test("a skippable frame in front is still zstd", async () => {
  const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
  expect(compressionOf(skippable)).toBe("zstd");
  const packed = Buffer.concat([skippable, zstdCompressSync("text"), skippable]);
  expect((await unpack(packed, "zstd")).toString()).toBe("text");
});

test("text is not detected as compressed", () => {
  expect(compressionOf(Buffer.from("(a,b"))).toBeNull();
  expect(compressionOf(Buffer.from(""))).toBeNull();
});

test("a Node without zstd reports it in one sentence", async () => {
  onTestFinished(() => {
    vi.doUnmock("node:zlib");
    vi.resetModules(); // Other tests must not get the modules loaded here.
  });
  vi.resetModules();
  vi.doMock("node:zlib", async (load) => {
    const { createZstdDecompress: _, ...rest } = await load<typeof import("node:zlib")>();
    return { ...rest, createZstdDecompress: undefined };
  });
  const { expand: expandThere } = await import("./expand.ts");
  const cursor = new ByteCursor(sourceOf(zstdCompressSync("text")).stream(signal));
  await expect(collect(expandThere(cursor, "zstd", "a"))).rejects.toThrow(
    "a: is compressed with zstd, which needs Node 22.15 or later",
  );
});
