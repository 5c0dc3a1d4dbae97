import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../../core/units.ts";
import type { MessageContent, MessageHead } from "../../../ports/broker/broker-change.ts";
import { BlockBuilder, type BlockRows, contentIn, headsIn, openContents } from "./message-block.ts";
import { PAGE_MESSAGES } from "./receipt-pages.ts";

const anyTime = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).map(epochMs);
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "\u0000", "\u{1f600}".repeat(9), "ü", "x".repeat(40_000)),
);

const anyMessage = fc.record({
  head: fc.record({
    queue: fc.nat(),
    sentAt: anyTime,
    arrivalCount: fc.nat(),
    dueAt: anyTime,
    receivedAt: anyTime,
    firstReceivedAt: anyTime,
    receiveCount: fc.nat(),
    group: fc.option(anyText),
  }),
  content: fc.record({ id: anyText, body: anyText, detail: fc.option(anyText) }),
});

interface Message {
  readonly head: MessageHead;
  readonly content: MessageContent;
}

const plain = (seq: number, body = `body ${seq}`): Message => ({
  head: {
    seq,
    queue: 1,
    sentAt: epochMs(seq),
    arrivalCount: 0,
    dueAt: epochMs(seq),
    receivedAt: epochMs(0),
    firstReceivedAt: epochMs(0),
    receiveCount: 0,
    group: null,
  },
  content: { id: `id-${seq}`, body, detail: null },
});

/** Packs messages like a commit: a new block whenever the current one is full. */
function pack(messages: readonly Message[]): BlockRows[] {
  const builder = new BlockBuilder();
  const blocks: BlockRows[] = [];
  for (const { head, content } of messages) {
    if (!builder.takes(head.seq, content)) blocks.push(builder.take());
    builder.add(head, content);
  }
  if (!builder.isEmpty) blocks.push(builder.take());
  return blocks;
}

test("every packed message is read back from its block", () => {
  const numbered = fc
    .tuple(
      fc.nat(10_000),
      fc.array(fc.tuple(anyMessage, fc.nat(3)), { maxLength: 150, size: "max" }),
    )
    .map(([start, list]) => {
      let seq = start;
      return list.map(([{ head, content }, gap]) => {
        seq += gap === 3 ? 2 : 1; // Some numbers are skipped.
        return { head: { seq, ...head }, content };
      });
    });
  fc.assert(
    fc.property(numbered, (messages) => {
      const blocks = pack(messages);
      expect(blocks.flatMap((rows) => [...headsIn(rows)])).toEqual(messages.map((m) => m.head));
      for (const { head, content } of messages) {
        const holders = blocks
          .map((rows) => contentIn(openContents(rows), head.seq))
          .filter(Boolean);
        expect(holders).toEqual([content]);
      }
      expect(blocks.reduce((sum, rows) => sum + rows.count, 0)).toBe(messages.length);
    }),
    { numRuns: 40 },
  );
});

test("a block stays within one page, without a gap (B1)", () => {
  const seqs = [...Array(200).keys()].map((index) => index + (index < 100 ? 30 : 31));
  for (const { first, count } of pack(seqs.map((seq) => plain(seq)))) {
    expect(Math.floor(first / PAGE_MESSAGES)).toBe(Math.floor((first + count - 1) / PAGE_MESSAGES));
    expect(seqs).toEqual(expect.arrayContaining([...Array(count).keys()].map((n) => first + n)));
  }
});

test("a block has a bounded amount of text, unless it is one message (B1)", () => {
  const sizes = [60_000, 60_000, 60_000, 1_000_000, 10, 10];
  const blocks = pack(sizes.map((size, index) => plain(index + 1, "x".repeat(size))));
  expect(blocks.map((rows) => rows.count)).toEqual([2, 1, 1, 2]);
});

test("a megabyte of astral characters keeps its lengths and its neighbours", () => {
  const body = "\u{1f30a}".repeat(262_144);
  const [rows] = pack([plain(1, body)]) as [BlockRows];
  // Text decoded from UTF-8 has the same units again.
  const text = Buffer.from(rows.text).toString();
  expect(contentIn(openContents({ ...rows, text }), 1)?.body === body).toBe(true);
});

test("a number outside the block has no content", () => {
  const [rows] = pack([plain(5), plain(6)]) as [BlockRows];
  expect([4, 7].map((seq) => contentIn(openContents(rows), seq))).toEqual([undefined, undefined]);
});

test("an emptied builder keeps nothing of the last block", () => {
  const builder = new BlockBuilder();
  const grouped = plain(1);
  builder.add({ ...grouped.head, group: "g" }, grouped.content);
  builder.take();
  const { head, content } = plain(9);
  builder.add(head, content);
  const rows = builder.take();
  expect([...headsIn(rows)]).toEqual([head]);
  expect(rows.groups).toBeNull();
  expect(contentIn(openContents(rows), 9)).toEqual(content);
});

test("a message with a gap before it is rejected, not misplaced", () => {
  const builder = new BlockBuilder();
  const [first, third] = [plain(1), plain(3)];
  builder.add(first.head, first.content);
  expect(() => builder.add(third.head, third.content)).toThrow(/joins the block/);
});
