import fc from "fast-check";
import { expect, test } from "vitest";
import { type Sendable, selectBatch } from "./batcher.ts";

const LIMITS = { entriesMax: 10, messageBytesMax: 100, batchBytesMax: 100, entriesPerGroupMax: 1 };

const anySendable = fc.record({
  orderedBy: fc.option(fc.constantFrom("a", "b", "c", "d")),
  bytes: fc.integer({ min: 1, max: 100 }),
});

test("a batch stays within its limits and takes nothing of busy groups (T1, T2)", () => {
  const busy = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"));
  const perGroup = fc.integer({ min: 1, max: 3 });
  fc.assert(
    fc.property(fc.array(anySendable), busy, perGroup, (waiting, names, entriesPerGroupMax) => {
      const limits = { ...LIMITS, entriesPerGroupMax };
      const chosen = selectBatch(waiting, new Set(names), limits).map((at) => waiting[at]);
      const groups = chosen.map((each) => each?.orderedBy ?? null).filter((name) => name !== null);
      expect(chosen.length).toBeLessThanOrEqual(10);
      expect(chosen.reduce((sum, each) => sum + (each?.bytes ?? 0), 0)).toBeLessThanOrEqual(100);
      expect(groups.filter((name) => names.includes(name))).toEqual([]);
      for (const name of groups) {
        expect(groups.filter((each) => each === name).length).toBeLessThanOrEqual(
          entriesPerGroupMax,
        );
      }
    }),
  );
});

test("no message overtakes an earlier one of its group (T3)", () => {
  fc.assert(
    fc.property(fc.array(anySendable), fc.integer({ min: 1, max: 3 }), (waiting, most) => {
      const chosen = new Set(
        selectBatch(waiting, new Set(), { ...LIMITS, entriesPerGroupMax: most }),
      );
      const waitingGroups = new Set<string>();
      for (const [at, { orderedBy }] of waiting.entries()) {
        if (orderedBy === null) continue;
        if (chosen.has(at)) expect(waitingGroups.has(orderedBy)).toBe(false);
        else waitingGroups.add(orderedBy);
      }
    }),
  );
});

test("something is always sent when something can be: no message waits forever", () => {
  fc.assert(
    fc.property(fc.array(anySendable, { minLength: 1 }), (waiting: Sendable[]) => {
      expect(selectBatch(waiting, new Set(), LIMITS)[0]).toBe(0);
    }),
  );
});
