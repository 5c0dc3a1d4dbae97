// The contract of batches in an outbox: the behaviour of every store.

import { describe, expect, test } from "vitest";
import { days, epochMs, seconds } from "../../src/core/units.ts";
import type { BatchInput, ExpectedItem, JobBatch } from "../../src/ports/batches.ts";
import type { Outbox } from "../../src/ports/outbox.ts";
import { FAR_AHEAD, type ManualClock } from "../support/manual-clock.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";

const T0 = FAR_AHEAD;
const QUEUE = "downloads.fifo";

const item = (name: string): ExpectedItem => ({ name, key: `key of ${name}` });
const items = (...names: readonly string[]) => names.map(item);
const input = (id: string, more: Partial<BatchInput> = {}): BatchInput => ({
  name: "2026-02-28",
  id,
  itemCount: 2,
  digest: "digest of a and b",
  replace: false,
  ...more,
});
const namesOf = (some: readonly { readonly name: string }[]) => some.map(({ name }) => name);

export function describeBatches(binding: StoreBinding<Outbox>): void {
  describe(`batches on ${binding.name}`, () => {
    let clock: ManualClock;
    let outbox: Outbox;
    let again: () => Promise<Outbox>;
    openBeforeEach(binding, T0, (opened) => {
      ({ clock, store: outbox, again } = opened);
    });
    const openNames = async (id: string) =>
      namesOf(await outbox.openBatchItems(id, { after: null, limit: 100 }));
    const seal = (id: string, name = "2026-02-28") => outbox.sealBatch(QUEUE, name, id);
    const complete = (id: string) => outbox.completeBatch(QUEUE, "2026-02-28", id);

    test("a batch is opened, filled, sealed and completed (H1-H4)", async () => {
      const opened = await outbox.openBatch(QUEUE, input("one"));
      const batch: JobBatch = {
        name: "2026-02-28",
        id: "one",
        itemCount: 2,
        digest: "digest of a and b",
        openedAt: T0,
        sealedAt: null,
        completedAt: null,
        expiresAt: epochMs(T0 + days(45)),
      };
      expect(opened).toEqual({ kind: "opened", batch });
      await outbox.addBatchItems("one", items("b", "a"));
      expect(await outbox.openBatchItems("one", { after: null, limit: 10 })).toEqual(
        items("a", "b"),
      );
      clock.advance(seconds(1));
      const sealedAt = epochMs(T0 + seconds(1));
      expect(await seal("one")).toEqual({ ...batch, sealedAt });
      await outbox.markItemsDone("one", items("a"));
      expect(await openNames("one")).toEqual(["b"]);
      expect(await complete("one")).toBeUndefined();
      await outbox.markItemsDone("one", items("b"));
      expect(await outbox.countDoneItems("one")).toBe(2);
      clock.advance(seconds(1));
      const whole = { ...batch, sealedAt, completedAt: epochMs(T0 + seconds(2)) };
      expect(await complete("one")).toEqual(whole);
      clock.advance(seconds(1));
      expect(await complete("one")).toEqual(whole);
      expect(await outbox.findBatch(QUEUE, "2026-02-28")).toEqual(whole);
    });

    test("a batch that is not sealed is never complete, whatever is done (H2)", async () => {
      await outbox.openBatch(QUEUE, input("one"));
      await outbox.addBatchItems("one", items("a", "b"));
      await outbox.markItemsDone("one", items("a", "b"));
      expect(await complete("one")).toBeUndefined();
      await seal("one");
      expect(await complete("one")).toMatchObject({ completedAt: T0 });
    });

    test("the same items open the same batch; other items conflict and change nothing (H1)", async () => {
      await outbox.openBatch(QUEUE, input("one"));
      const same = await outbox.openBatch(QUEUE, input("two"));
      expect(same).toMatchObject({ kind: "opened", batch: { id: "one" } });
      const other = await outbox.openBatch(QUEUE, input("two", { digest: "of c" }));
      expect(other).toMatchObject({ kind: "conflict", batch: { id: "one" } });
      const more = await outbox.openBatch(QUEUE, input("two", { itemCount: 3 }));
      expect(more).toMatchObject({ kind: "conflict", batch: { itemCount: 2 } });
    });

    test("a replaced registration can neither seal nor complete, and leaves no items (H3)", async () => {
      await outbox.openBatch(QUEUE, input("one"));
      await outbox.addBatchItems("one", items("a"));
      const changed = { digest: "of c", itemCount: 1, replace: true };
      const replaced = await outbox.openBatch(QUEUE, input("two", changed));
      expect(replaced).toMatchObject({ kind: "opened", batch: { id: "two", sealedAt: null } });
      expect(await seal("one")).toBeUndefined();
      await outbox.addBatchItems("two", items("c"));
      expect(await openNames("two")).toEqual(["c"]);
      await seal("two");
      await outbox.markItemsDone("two", items("c"));
      expect(await complete("one")).toBeUndefined();
      expect(await complete("two")).toMatchObject({ id: "two" });
      const late = await outbox.openBatch(QUEUE, input("three", { replace: true }));
      expect(late).toMatchObject({ kind: "conflict", batch: { id: "two" } }); // H4
    });

    test("an item that is done stays done when it is added again, and unknown ones do not count (B3)", async () => {
      await outbox.openBatch(QUEUE, input("one"));
      await outbox.addBatchItems("one", items("a", "b", "a"));
      await outbox.markItemsDone("one", items("a", "none"));
      await outbox.addBatchItems("one", items("a", "b"));
      expect(await openNames("one")).toEqual(["b"]);
      expect(await outbox.countDoneItems("one")).toBe(1);
      await outbox.addBatchItems("one", []);
      await outbox.markItemsDone("one", []);
    });

    test("open items come in pages, in the byte order of their names", async () => {
      const names = ["z", "ü", "a b", "a\nb", "a#b", "'", "日本", "😀", "a/b?c=d&e", "\u{ffff}"];
      await outbox.openBatch(QUEUE, input("one", { itemCount: names.length }));
      await outbox.addBatchItems("one", items(...names));
      const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const paged: string[] = [];
      for (let after: string | null = null; ; after = paged.at(-1) ?? null) {
        const page = await outbox.openBatchItems("one", { after, limit: 3 });
        paged.push(...namesOf(page));
        if (page.length < 3) break;
      }
      expect(paged).toEqual(sorted);
    });

    test("a page of open items skips hundreds that are done", async () => {
      const names = Array.from({ length: 450 }, (_, n) => `file-${String(n).padStart(4, "0")}`);
      await outbox.openBatch(QUEUE, input("one", { itemCount: names.length }));
      await outbox.addBatchItems("one", items(...names));
      await outbox.markItemsDone("one", items(...names.slice(0, 330)));
      const page = await outbox.openBatchItems("one", { after: null, limit: 5 });
      expect(namesOf(page)).toEqual(names.slice(330, 335));
      expect(await outbox.countDoneItems("one")).toBe(330);
    });

    test("a batch may have odd characters in its name; a name that no store can keep is rejected", async () => {
      const odd = ["a b", "2026/02#28", "'; --", "日本 😀", "line\nbreak", "%", "x".repeat(512)];
      for (const name of odd) {
        await outbox.openBatch(QUEUE, input(`id of ${name}`, { name }));
        expect(await outbox.findBatch(QUEUE, name)).toMatchObject({ name, id: `id of ${name}` });
      }
      const listed = await outbox.listBatches(QUEUE, { after: null, limit: 100 });
      expect(namesOf(listed).toSorted()).toEqual(odd.toSorted());
      for (const name of ["", " ", "a\0b", "\ud800", "x".repeat(513)]) {
        const opening = outbox.openBatch(QUEUE, input("one", { name }));
        await expect(opening).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
      }
      const many = Array.from({ length: 1_001 }, (_, n) => item(`i${n}`));
      const adding = outbox.addBatchItems("one", many);
      await expect(adding).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
      const huge = outbox.openBatch(QUEUE, input("one", { itemCount: 1_000_001 }));
      await expect(huge).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    });

    test("an empty batch is complete as soon as it is sealed", async () => {
      await outbox.openBatch(QUEUE, input("one", { itemCount: 0, digest: "" }));
      expect(await complete("one")).toBeUndefined();
      await seal("one");
      expect(await complete("one")).toMatchObject({ completedAt: T0 });
    });

    test("batches of different targets are separate, and come in pages", async () => {
      for (const name of ["b", "a", "c"]) await outbox.openBatch(QUEUE, input(name, { name }));
      await outbox.openBatch("other", input("x", { name: "x" }));
      const first = await outbox.listBatches(QUEUE, { after: null, limit: 2 });
      expect(namesOf(first)).toEqual(["a", "b"]);
      expect(namesOf(await outbox.listBatches(QUEUE, { after: "b", limit: 2 }))).toEqual(["c"]);
      expect(await outbox.findBatch("other", "a")).toBeUndefined();
    });

    test("an expired batch is gone, and its successor starts without its items (H5)", async () => {
      await outbox.openBatch(QUEUE, input("one"));
      await outbox.addBatchItems("one", items("a", "b"));
      await seal("one");
      await outbox.markItemsDone("one", items("a", "b"));
      clock.advance(days(45));
      expect(await outbox.findBatch(QUEUE, "2026-02-28")).toBeUndefined();
      expect(await outbox.listBatches(QUEUE, { after: null, limit: 10 })).toEqual([]);
      expect(await complete("one")).toBeUndefined();
      const next = await outbox.openBatch(QUEUE, input("two"));
      expect(next).toMatchObject({ kind: "opened", batch: { id: "two", sealedAt: null } });
      expect(await outbox.countDoneItems("two")).toBe(0);
      await outbox.addBatchItems("two", items("a"));
      expect(await outbox.purge(1)).toBe(1);
      expect(await outbox.purge(100)).toBe(1);
      expect(await outbox.purge(100)).toBe(0);
      expect(await openNames("two")).toEqual(["a"]);
    });

    test("several connections register one batch at once, and it has one id", async () => {
      const second = await again();
      const names = Array.from({ length: 60 }, (_, n) => `f${n}`);
      const registering = [outbox, second, outbox, second].map(async (each, at) => {
        const mine = input(`id ${at}`, { itemCount: names.length });
        const { batch } = await each.openBatch(QUEUE, mine);
        const order = at % 2 === 0 ? names : names.toReversed();
        await each.addBatchItems(batch.id, items(...order));
        await each.sealBatch(QUEUE, batch.name, batch.id);
        return batch.id;
      });
      const ids = new Set(await Promise.all(registering));
      expect(ids.size).toBe(1);
      const [id = ""] = ids;
      expect(await openNames(id)).toHaveLength(60);
      const marking = [outbox, second].map((each) => each.markItemsDone(id, items(...names)));
      await Promise.all(marking);
      const completing = [outbox, second].map((each) =>
        each.completeBatch(QUEUE, "2026-02-28", id),
      );
      for (const batch of await Promise.all(completing)) expect(batch?.completedAt).toBe(T0);
    });

    test("of two registrations with other items, one wins", async () => {
      const second = await again();
      const results = await Promise.all([
        outbox.openBatch(QUEUE, input("one")),
        second.openBatch(QUEUE, input("two", { digest: "of c" })),
      ]);
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(["conflict", "opened"]);
      expect(results[0].batch.id).toBe(results[1].batch.id);
    });
  });
}
