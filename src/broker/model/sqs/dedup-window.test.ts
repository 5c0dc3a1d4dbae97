import fc from "fast-check";
import { expect, test } from "vitest";
import { inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { createSeededRandom } from "../../../core/seeded-random.ts";
import { epochMs } from "../../../core/units.ts";
import { DedupWindow, dedupDigest } from "./dedup-window.ts";

const random = createSeededRandom(5);
const MESSAGE_IDS = Array.from({ length: 50 }, () => random.uuid());

/** The simplest window, as a reference. */
class NaiveWindow {
  readonly #entries = new Map<string, { acceptedAt: number; messageId: string; seq: number }>();

  get size(): number {
    return this.#entries.size;
  }

  find(id: string): { messageId: string; seq: number } | null {
    const match = this.#entries.get(id);
    return match === undefined ? null : { messageId: match.messageId, seq: match.seq };
  }

  add(id: string, acceptedAt: number, accepted: { messageId: string; seq: number }): void {
    this.#entries.set(id, { acceptedAt, ...accepted });
  }

  expire(through: number): void {
    for (const [id, { acceptedAt }] of this.#entries) {
      if (acceptedAt <= through) this.#entries.delete(id);
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  oldest(): number | null {
    return this.#entries.values().next().value?.acceptedAt ?? null;
  }
}

/** Many adds at a time, so that runs cross chunk borders (128) and grow and shrink the index. */
const anyMove = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 700 }) }) },
  { weight: 4, arbitrary: fc.record({ expireMs: fc.integer({ min: 0, max: 900 }) }) },
  { weight: 1, arbitrary: fc.constant({ clear: true }) },
);

test("the window answers as a map would, across chunk borders and index sizes", () => {
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 25 }), fc.nat(), (moves, seed) => {
      const draws = createSeededRandom(seed);
      const window = new DedupWindow();
      const naive = new NaiveWindow();
      let now = 1_000;
      let seq = 0;
      const digests: string[] = ["never added"];
      for (const move of moves) {
        const adds = "add" in move ? move.add : 0;
        for (let remaining = adds; remaining > 0; remaining -= 1) {
          now += draws.below(3);
          seq += 1;
          const id = `id-${draws.below(20_000)}`;
          if (naive.find(id) !== null) continue;
          const accepted = { messageId: MESSAGE_IDS[seq % 50] as string, seq };
          window.add(dedupDigest(null, id), epochMs(now), accepted);
          naive.add(id, now, accepted);
          digests.push(id);
        }
        if ("expireMs" in move) {
          window.expire(epochMs(now - move.expireMs));
          naive.expire(now - move.expireMs);
        }
        if ("clear" in move) {
          window.clear();
          naive.clear();
        }
        expect(window.size).toBe(naive.size);
        expect(window.oldest()).toBe(naive.oldest());
        for (let remaining = 40; remaining > 0; remaining -= 1) {
          const id = digests[draws.below(digests.length)] as string;
          expect(window.find(dedupDigest(null, id))).toEqual(naive.find(id));
        }
      }
      for (const id of digests) {
        expect(window.find(dedupDigest(null, id))).toEqual(naive.find(id));
      }
    }),
    { numRuns: 40 },
  );
});

test("digests with the same home stay apart, also after the first of them expired", () => {
  const window = new DedupWindow();
  const digests = Array.from({ length: 40 }, (_, index) => {
    const digest = Buffer.alloc(16); // All have the same home in the index.
    digest.writeUInt32BE(index, 12);
    return digest;
  });
  digests.forEach((digest, index) => {
    window.add(digest, epochMs(index), { messageId: MESSAGE_IDS[index] as string, seq: index });
  });
  window.expire(epochMs(19));
  expect(digests.map((digest) => window.find(digest)?.seq ?? null)).toEqual(
    digests.map((_, index) => (index <= 19 ? null : index)),
  );
});

test("expired entries are counted until the store has deleted them", () => {
  const window = new DedupWindow();
  for (let index = 0; index < 3; index += 1) {
    const accepted = { messageId: MESSAGE_IDS[0] as string, seq: 1 };
    window.add(dedupDigest(null, `${index}`), epochMs(index), accepted);
  }
  window.expire(epochMs(1));
  expect(window.popped).toBe(2);
  window.forgetPopped();
  expect(window.popped).toBe(0);
});

test("different pairs of group and id never have the same digest", () => {
  const digests = [dedupDigest("ab", "c"), dedupDigest("a", "bc"), dedupDigest(null, "abc")];
  expect(new Set(digests.map((digest) => digest.toString("hex"))).size).toBe(3);
});

test("an id is a duplicate for five minutes from its first acceptance, to the millisecond", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  const [first] = bench.send("q.fifo", inGroup("g", "a"));
  bench.pass(299_999);
  expect(bench.send("q.fifo", inGroup("g", "a"))).toEqual([first]); // D1: does not extend it.
  bench.pass(1);
  const [again] = bench.send("q.fifo", inGroup("g", "a"));
  expect(again?.messageId).not.toBe(first?.messageId);
  expect(bench.counts("q.fifo")).toEqual([2, 0, 0]);
});

test("receiving and deleting the message does not end its window (D1)", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  const [first] = bench.send("q.fifo", inGroup("g", "a"));
  bench.delete("q.fifo", ...bench.receive("q.fifo"));
  expect(bench.send("q.fifo", inGroup("g", "a"))).toEqual([first]);
  expect(bench.counts("q.fifo")).toEqual([0, 0, 0]);
});

test("a window with an id or two costs a few kilobytes (D4)", () => {
  const bytesOf = (work: () => void) => {
    const before = process.memoryUsage().arrayBuffers;
    work();
    return process.memoryUsage().arrayBuffers - before;
  };
  const windows = Array.from({ length: 500 }, () => new DedupWindow());
  const accepted = { messageId: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", seq: 1 };
  const used = bytesOf(() => {
    for (const window of windows) window.add(dedupDigest(null, "x"), epochMs(1), accepted);
  });
  expect(used / windows.length).toBeLessThan(8_192);
});
