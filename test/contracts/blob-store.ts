// The contract of BlobStore: one suite that every adapter passes.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BlobStore, StagedBlob } from "../../src/ports/broker/blob-store.ts";
import type { Piece } from "../../src/ports/broker/object-change.ts";

export async function* chunksOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

export async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const copies: Uint8Array[] = [];
  for await (const chunk of chunks) copies.push(Uint8Array.from(chunk)); // L5
  return Buffer.concat(copies).toString();
}

export async function keep(store: BlobStore, ...chunks: string[]): Promise<Piece & StagedBlob> {
  const staged = await store.stage(chunksOf(...chunks));
  await staged.publish();
  staged.keep();
  return { ...staged, blob: staged.id };
}

export function describeBlobStore(name: string, open: () => Promise<BlobStore>): void {
  describe(`the ${name} blob store`, () => {
    test("published bytes read back, completely and in any range over several blobs", async () => {
      const store = await open();
      const pieces = [await keep(store, "hel", "lo"), await keep(store), await keep(store, " you")];
      const whole = "hello you";
      await fc.assert(
        fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(whole.length), async (from, length) => {
          const through = Math.min(from + length, whole.length - 1);
          const read = await textOf(store.read(pieces, { from, through }));
          expect(read).toBe(whole.slice(from, through + 1));
        }),
        { numRuns: 50 },
      );
      await store.close();
    });

    test("a blob can be staged while another is read, whatever the chunks (L5)", async () => {
      const store = await open();
      const sizes = [1, 40_000, 7, 300_001, 128 * 1_024, 3];
      const texts = sizes.map((size, index) => `${index}`.repeat(size));
      const pieces: Piece[] = [];
      for (const text of texts) pieces.push(await keep(store, text));
      const whole = { from: 0, through: texts.join("").length - 1 };
      const staged = await store.stage(store.read(pieces, whole));
      await staged.publish();
      const copy = [{ blob: staged.id, sizeBytes: staged.sizeBytes }];
      expect(await textOf(store.read(copy, whole))).toBe(texts.join(""));
      await store.close();
    });

    test("a removed blob stays complete for readers that start in the same turn (L4)", async () => {
      const store = await open();
      const piece = await keep(store, "hello");
      store.remove([piece.blob]);
      await Promise.resolve();
      const reading = store.read([piece], { from: 0, through: 4 });
      await new Promise((resolve) => setImmediate(resolve));
      expect(await textOf(reading)).toBe("hello");
      await store.close();
    });

    test("a failed stream fails the staging", async () => {
      const store = await open();
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.from("some");
        throw new Error("the client has gone");
      }
      await expect(store.stage(broken())).rejects.toThrow("the client has gone");
      await store.close();
    });

    test("a blob that is being read is not removed (L4)", async () => {
      const store = await open();
      const blob = await keep(store, "x".repeat(600_000));
      const reading = store.read([blob], { from: 0, through: blob.sizeBytes - 1 });
      store.remove([blob.blob]);
      await new Promise((resolve) => setImmediate(resolve));
      expect((await textOf(reading)).length).toBe(600_000);
      await store.close();
    });

    test("a sweep removes unreferenced blobs, and no others", async () => {
      const store = await open();
      const [referenced, unknown] = [await keep(store, "known"), await keep(store, "unknown")];
      await store.sweep((blob) => blob === referenced.blob);
      const range = { from: 0, through: 4 };
      expect(await textOf(store.read([referenced], range))).toBe("known");
      const lost = (async () => textOf(store.read([unknown], range)))();
      await expect(lost).rejects.toThrow();
      await store.close();
    });
  });
}
