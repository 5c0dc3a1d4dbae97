import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../../core/units.ts";
import type { MessageHead } from "../../../ports/broker/broker-change.ts";
import { PAGE_MESSAGES, pageOf, type Receipt, ReceiptPage, ReceiptPages } from "./receipt-pages.ts";

/** More pages than stay in memory between commits. */
const MANY_PAGES = 3_000;

const receipt = (count: number): Receipt => ({
  receiveCount: count,
  dueAt: epochMs(count + 1),
  receivedAt: epochMs(count + 2),
  firstReceivedAt: epochMs(count + 3),
});

const head = (seq: number): MessageHead => ({
  seq,
  queue: 1,
  sentAt: epochMs(0),
  arrivalCount: 0,
  group: null,
  ...receipt(0),
});

const reread = (page: ReceiptPage) => new ReceiptPage(page.number, page.bytes);

test("slots are unwritten, alive or gone, and the same when read from their bytes (R2)", () => {
  const anyStep = fc.record({
    slot: fc.nat(PAGE_MESSAGES - 1),
    count: fc.nat(2_000),
    erase: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.array(anyStep), (number, steps) => {
      const page = new ReceiptPage(number);
      const slots = new Map<number, Receipt | "gone">();
      for (const { slot, count, erase } of steps) {
        const seq = number * PAGE_MESSAGES + slot;
        const expected = slots.get(seq);
        if (expected === "gone") continue;
        if (erase && expected !== undefined) page.erase(seq);
        else page.write(seq, receipt(count));
        slots.set(seq, erase && expected !== undefined ? "gone" : receipt(count));
      }
      for (const each of [page, reread(page)]) {
        for (let slot = 0; slot < PAGE_MESSAGES; slot += 1) {
          const seq = number * PAGE_MESSAGES + slot;
          const expected = slots.get(seq) ?? null;
          expect(each.isGone(seq)).toBe(expected === "gone");
          expect(each.isAlive(seq)).toBe(expected !== "gone" && expected !== null);
          expect(each.read(seq)).toEqual(expected === "gone" ? null : expected);
        }
        expect(each.alive).toBe([...slots.values()].filter((slot) => slot !== "gone").length);
      }
    }),
  );
});

test("a message that is not alive cannot be erased", () => {
  const page = new ReceiptPage(0);
  expect(() => page.erase(3)).toThrow(/message 3 is missing/);
  page.write(3, receipt(0));
  page.erase(3);
  expect(() => page.erase(3)).toThrow(/message 3 is missing/);
});

test("a block is reported empty when its last message is deleted, once, and not before (R3)", () => {
  const page = new ReceiptPage(1);
  for (const seq of [64, 65, 70, 71]) page.write(seq, receipt(0));
  page.startBlock(64);
  page.startBlock(70);
  page.erase(64);
  expect(page.takeEmptyBlocks()).toEqual([]);
  page.erase(65);
  expect(page.takeEmptyBlocks()).toEqual([64]);
  expect(page.takeEmptyBlocks()).toEqual([]);
  page.erase(71);
  page.erase(70);
  expect(page.takeEmptyBlocks()).toEqual([70]);
});

test("a changed page is never evicted, however many there are (R5)", () => {
  const loaded: number[] = [];
  const pages = new ReceiptPages((number) => {
    loaded.push(number);
    return new ReceiptPage(number);
  });
  const first = PAGE_MESSAGES; // Page 1.
  pages.beginCommit();
  for (let page = 1; page <= MANY_PAGES; page += 1) {
    pages.put(head(page * PAGE_MESSAGES), true);
    pages.touch(pages.of(page * PAGE_MESSAGES));
  }
  expect(pages.of(first).isAlive(first)).toBe(true);
  expect(() => pages.forget()).toThrow(/no changed page/);
  const dirty = pages.takeDirty();
  expect(dirty).toHaveLength(MANY_PAGES);
  // Its commit is in flight; reading it from disk is too early.
  expect(pages.of(first)).toBe(dirty[0]);
  pages.forget();
  expect(pages.of(first)).toBe(dirty[0]);
  expect(loaded).toEqual([]);
  pages.endCommit();
  pages.forget();
  pages.of(first);
  expect(loaded).toEqual([1]);
  const last = MANY_PAGES * PAGE_MESSAGES;
  expect(pages.of(last)).toBe(dirty.at(-1));
});

test("a page without living messages is read again once its commit has ended", () => {
  let loads = 0;
  const pages = new ReceiptPages((number) => {
    loads += 1;
    return new ReceiptPage(number);
  });
  pages.beginCommit();
  pages.put(head(64), true);
  const page = pages.of(64);
  page.erase(64);
  pages.touch(page);
  pages.takeDirty();
  pages.forget();
  expect(pages.of(64)).toBe(page);
  pages.endCommit();
  pages.forget();
  expect(pages.of(64).isGone(64)).toBe(false);
  expect(loads).toBe(1);
});

test("a page stays until the last commit that changed it has ended (R5)", () => {
  const loaded: number[] = [];
  const pages = new ReceiptPages((number) => {
    loaded.push(number);
    return new ReceiptPage(number);
  });
  pages.beginCommit();
  pages.put(head(64), true);
  const page = pages.of(64);
  page.erase(64);
  pages.touch(page);
  pages.takeDirty();
  pages.beginCommit();
  // The page ends with the first commit and starts again with the second.
  pages.put(head(65), true);
  pages.endCommit();
  pages.forget();
  expect(pages.of(65)).toBe(page);
  expect([64, 65].map((seq) => page.isAlive(seq))).toEqual([false, true]);
  pages.endCommit();
  pages.forget();
  pages.of(65);
  expect(loaded).toEqual([1]);
});

test("the first number of a page may come after later ones of the same commit", () => {
  const pages = new ReceiptPages((number) => new ReceiptPage(number));
  pages.put(head(65), true);
  pages.put(head(64), true);
  expect([64, 65].map((seq) => pages.of(seq).isAlive(seq))).toEqual([true, true]);
});

test("each number has one page (R1)", () => {
  expect([0, 63, 64, 127, 128, 2 ** 52].map(pageOf)).toEqual([0, 0, 1, 1, 2, 2 ** 46]);
});
