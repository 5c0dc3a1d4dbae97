import fc from "fast-check";
import { expect, test } from "vitest";
import { headOf, message } from "../../../../test/contracts/broker-store.ts";
import { BlockBuilder } from "./message-block.ts";
import { PAGE_MESSAGES, pageOf } from "./receipt-pages.ts";
import { RECENT_PAGES_MAX, RECENT_TEXT_MAX, RecentBlocks } from "./recent-blocks.ts";

function blockOf(seqs: readonly number[], body = "b") {
  const builder = new BlockBuilder();
  for (const seq of seqs) {
    builder.add(headOf(message(seq)), { id: `id-${seq}`, body, detail: seq % 2 ? "d" : null });
  }
  return builder.take();
}

test("recently written messages are found as written, and no others", () => {
  const recent = new RecentBlocks();
  recent.add(blockOf([5, 6]));
  recent.add(blockOf([8]));
  recent.add(blockOf([PAGE_MESSAGES]));
  expect([5, 6, 8, 64].map((seq) => recent.find(seq))).toEqual([
    { id: "id-5", body: "b", detail: "d" },
    { id: "id-6", body: "b", detail: null },
    { id: "id-8", body: "b", detail: null },
    { id: "id-64", body: "b", detail: null },
  ]);
  expect([4, 7, 9, 65].map((seq) => recent.find(seq))).toEqual(Array(4).fill(undefined));
  expect(recent.find(5 + RECENT_PAGES_MAX * PAGE_MESSAGES)).toBe(undefined);
});

test("the oldest pages go when there are too many, or too much text (N2)", () => {
  const recent = new RecentBlocks();
  const last = RECENT_PAGES_MAX * PAGE_MESSAGES;
  for (const seq of [1, PAGE_MESSAGES, last]) recent.add(blockOf([seq]));
  const cached = (...seqs: number[]) => seqs.map((seq) => recent.find(seq) !== undefined);
  expect(cached(1, PAGE_MESSAGES, last)).toEqual([false, true, true]);
  recent.add(blockOf([last + 1], "x".repeat(RECENT_TEXT_MAX - 20)));
  expect(cached(PAGE_MESSAGES, last, last + 1)).toEqual([false, true, true]);
  recent.add(blockOf([last + 2], "x".repeat(RECENT_TEXT_MAX)));
  expect(cached(last, last + 1, last + 2)).toEqual([false, false, false]);
  recent.add(blockOf([last + PAGE_MESSAGES]));
  expect(cached(last + PAGE_MESSAGES)).toEqual([true]);
});

test("in any history, every cached content is correct, and the newest page is cached", () => {
  const anyMove = fc.record({ gap: fc.nat(300), drop: fc.boolean(), pick: fc.nat(2_000) });
  fc.assert(
    fc.property(fc.array(anyMove), (moves) => {
      const recent = new RecentBlocks();
      const dropped = new Set<number>();
      let seq = 0;
      for (const { gap, drop, pick } of moves) {
        if (drop && pageOf(pick) < pageOf(seq)) {
          recent.dropPage(pageOf(pick));
          dropped.add(pageOf(pick));
          continue;
        }
        seq += 1 + gap;
        recent.add(blockOf([seq], `body ${seq}`));
        expect(recent.find(seq)?.body).toBe(`body ${seq}`);
        const content = recent.find(pick);
        if (content !== undefined) expect(content.id).toBe(`id-${pick}`);
        if (dropped.has(pageOf(pick))) expect(content).toBe(undefined);
      }
    }),
  );
});
