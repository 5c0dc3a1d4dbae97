import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../../core/units.ts";
import { TopicArchive } from "./topic-archive.ts";

test("an archive behaves like a plain list, whatever is added and expired", () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), gap: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant("expire" as const), limit: fc.integer({ min: 0, max: 2_000 }) }),
    fc.record({ kind: fc.constant("after" as const), share: fc.integer({ min: 0, max: 100 }) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const archive = new TopicArchive();
      let plain: { seq: number; at: number }[] = [];
      let seq = 0;
      for (const [index, step] of actions.entries()) {
        if (step.kind === "add") {
          seq += step.gap;
          archive.add(seq, epochMs(index));
          plain.push({ seq, at: index });
        } else if (step.kind === "expire") {
          const through = index / 2;
          const gone = plain.filter(({ at }) => at <= through).slice(0, step.limit);
          expect(archive.expire(epochMs(through), step.limit)).toEqual(gone.map(({ seq }) => seq));
          plain = plain.filter((entry) => !gone.includes(entry));
        } else {
          const after = (seq * step.share) / 100;
          const later = plain.filter((entry) => entry.seq > after).slice(0, 5);
          expect(archive.after(after, 5)).toEqual(later);
        }
        expect(archive.size).toBe(plain.length);
        expect(archive.oldest()).toBe(plain[0]?.at ?? null);
        expect(archive.lastSeq).toBe(plain.at(-1)?.seq ?? 0);
      }
      expect(archive.clear()).toEqual(plain.map((entry) => entry.seq));
      expect(archive.size).toBe(0);
    }),
  );
});

test("an archive frees the memory of expired entries", () => {
  const archive = new TopicArchive();
  for (let seq = 1; seq <= 5_000; seq += 1) archive.add(seq, epochMs(seq));
  expect(archive.expire(epochMs(4_000), 10_000)).toHaveLength(4_000);
  expect(archive.after(0, 1)).toEqual([{ seq: 4_001, at: 4_001 }]);
  expect(archive.size).toBe(1_000);
});
