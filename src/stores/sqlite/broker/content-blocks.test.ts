import { expect, test } from "vitest";
import { headOf, message } from "../../../../test/contracts/broker-store.ts";
import { BLOCKS_CACHED_MAX, ContentBlocks, TEXT_CACHED_MAX } from "./content-blocks.ts";
import { BlockBuilder, openContents } from "./message-block.ts";

function blockOf(seqs: readonly number[], body = "b") {
  const builder = new BlockBuilder();
  for (const seq of seqs) {
    builder.add(headOf(message(seq)), { id: `id-${seq}`, body, detail: seq % 2 ? "d" : null });
  }
  return openContents(builder.take());
}

test("messages are found in every cached block, and nowhere else", () => {
  const blocks = new ContentBlocks();
  for (const first of [1, 9, 5]) blocks.add(blockOf([first, first + 1]));
  expect([2, 5, 9].map((seq) => blocks.find(seq))).toEqual([
    { id: "id-2", body: "b", detail: null },
    { id: "id-5", body: "b", detail: "d" },
    { id: "id-9", body: "b", detail: "d" },
  ]);
  expect([0, 3, 7, 11].map((seq) => blocks.find(seq))).toEqual(Array(4).fill(undefined));
});

test("the oldest block goes when there are too many (K2)", () => {
  const blocks = new ContentBlocks();
  for (let seq = 0; seq <= BLOCKS_CACHED_MAX; seq += 1) blocks.add(blockOf([seq]));
  const cached = [0, 1, BLOCKS_CACHED_MAX].map((seq) => blocks.find(seq)?.id);
  expect(cached).toEqual([undefined, "id-1", `id-${BLOCKS_CACHED_MAX}`]);
});

test("the oldest block goes when there is too much text, but never the last one (K2)", () => {
  const blocks = new ContentBlocks();
  blocks.add(blockOf([1]));
  blocks.add(blockOf([3], "x".repeat(TEXT_CACHED_MAX)));
  expect([1, 3].map((seq) => blocks.find(seq) !== undefined)).toEqual([false, true]);
  blocks.add(blockOf([5]));
  blocks.add(blockOf([7]));
  expect([3, 5, 7].map((seq) => blocks.find(seq) !== undefined)).toEqual([false, true, true]);
});
