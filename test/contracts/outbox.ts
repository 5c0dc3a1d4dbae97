// The outbox's contract: the behaviour of every store. outbox.<store>.test.ts binds it to each
// store.

import { describe, expect, test } from "vitest";
import { days, seconds, subtractMs } from "../../src/core/units.ts";
import type { Outbox, OutboxEntry, RegisterResult } from "../../src/ports/outbox.ts";
import { FAR_AHEAD, type ManualClock } from "../support/manual-clock.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";
import { describeBatches } from "./outbox-batches.ts";

const T0 = FAR_AHEAD;
const QUEUE = "orders.fifo";
const MINE = { owner: "mine", leaseMs: seconds(30) };
const OTHER = { owner: "other", leaseMs: seconds(30) };

const entry = (key: string, more: Partial<OutboxEntry> = {}): OutboxEntry => ({
  key,
  groupId: "shop-1",
  dedupId: `dedup of ${key}`,
  payloadDigest: `digest of ${key}`,
  body: `{"dedupe_key":"${key} ✓"}`,
  attributes: { traceparent: "00-1-2-01" },
  ...more,
});
const sent = (key: string, epoch = 0) => ({ key, epoch, messageId: `id of ${key}` });
const kinds = (results: readonly RegisterResult[]) => results.map(({ kind }) => kind);
const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);

export function describeOutbox(binding: StoreBinding<Outbox>): void {
  describeBatches(binding);
  describe(`the outbox on ${binding.name}`, () => {
    let clock: ManualClock;
    let outbox: Outbox;
    let again: () => Promise<Outbox>;
    openBeforeEach(binding, T0, (opened) => {
      ({ clock, store: outbox, again } = opened);
    });
    const register = (keys: readonly string[], lease = MINE) =>
      outbox.register(
        QUEUE,
        keys.map((key) => entry(key)),
        lease,
      );

    test("a new event is registered, pending, and leased to the caller", async () => {
      const [result] = await register(["a"]);
      expect(result).toMatchObject({ kind: "taken", row: { ...entry("a"), state: "pending" } });
      expect(await outbox.find(QUEUE, "a")).toMatchObject({
        ...entry("a"),
        epoch: 0,
        owner: "mine",
      });
      const stats = { pending: 1, sent: 0, refused: 0, oldestPendingAt: T0 };
      expect(await outbox.stats(QUEUE)).toEqual(stats);
    });

    test("a sent event stays sent, long after the five minutes of SQS", async () => {
      await register(["a"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      clock.advance(days(40));
      const [result] = await register(["a"]);
      expect(result).toEqual({ kind: "sent", sentAt: T0, messageId: "id of a" });
      expect(await outbox.take(QUEUE, 10, MINE)).toEqual([]);
    });

    test("another payload under the same key is a conflict, pending or sent (B3)", async () => {
      await register(["a"]);
      const other = [entry("a", { payloadDigest: "another" })];
      expect(kinds(await outbox.register(QUEUE, other, MINE))).toEqual(["conflict"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      expect(await outbox.register(QUEUE, other, MINE)).toEqual([
        { kind: "conflict", registeredAt: T0 },
      ]);
      expect(await outbox.find(QUEUE, "a")).toMatchObject({ payloadDigest: "digest of a" });
    });

    test("one batch may contain the same event twice, and a conflict among valid events", async () => {
      const batch = [entry("a"), entry("a"), entry("a", { payloadDigest: "x" }), entry("b")];
      const results = await outbox.register(QUEUE, batch, MINE);
      expect(kinds(results)).toEqual(["taken", "taken", "conflict", "taken"]);
      expect(await outbox.stats(QUEUE)).toMatchObject({ pending: 2 });
    });

    test("while one process sends, another waits, and takes over once the lease has expired (B2)", async () => {
      await register(["a"]);
      expect(await register(["a"], OTHER)).toEqual([{ kind: "busy", until: T0 + seconds(30) }]);
      expect(await outbox.take(QUEUE, 10, OTHER)).toEqual([]);
      clock.advance(seconds(30));
      expect(keysOf(await outbox.take(QUEUE, 10, OTHER))).toEqual(["a"]);
      expect(kinds(await register(["a"]))).toEqual(["busy"]);
    });

    test("the owner of a lease can take its own rows immediately, as after a restart", async () => {
      await register(["a", "b"]);
      expect(keysOf(await outbox.take(QUEUE, 10, MINE))).toEqual(["a", "b"]);
      expect(kinds(await register(["a"]))).toEqual(["taken"]);
    });

    test("rows are taken in the order of registration, up to the limit", async () => {
      await register(["c", "a", "b"]);
      expect(keysOf(await outbox.take(QUEUE, 2, MINE))).toEqual(["c", "a"]);
    });

    test("a row is not taken while another owner sends an older row of its group", async () => {
      await register(["a"], OTHER);
      await register(["b"]);
      await outbox.register(QUEUE, [entry("c", { groupId: "shop-2" })], MINE);
      await outbox.register(QUEUE, [entry("d", { groupId: null })], MINE);
      expect(keysOf(await outbox.take(QUEUE, 10, MINE))).toEqual(["c", "d"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      expect(keysOf(await outbox.take(QUEUE, 10, MINE))).toEqual(["b", "c", "d"]);
    });

    test("targets are separate: one event may go to two of them", async () => {
      await register(["a"]);
      expect(kinds(await outbox.register("audit.fifo", [entry("a")], OTHER))).toEqual(["taken"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      expect(await outbox.find("audit.fifo", "a")).toMatchObject({ state: "pending" });
    });

    test("a refused row has its reason, is not taken, and is replaced by a fixed event", async () => {
      await register(["a", "b"]);
      await outbox.markRefused(QUEUE, [{ key: "a", epoch: 0, reason: "too big" }]);
      expect(await outbox.find(QUEUE, "a")).toMatchObject({ state: "refused", reason: "too big" });
      expect(keysOf(await outbox.take(QUEUE, 10, MINE))).toEqual(["b"]);
      const mended = [entry("a", { payloadDigest: "mended", body: "{}" })];
      expect(kinds(await outbox.register(QUEUE, mended, MINE))).toEqual(["taken"]);
      const rows = await outbox.take(QUEUE, 10, MINE);
      expect(rows.map(({ key, body }) => [key, body])).toEqual([
        ["b", entry("b").body],
        ["a", "{}"],
      ]);
      await outbox.markSent(QUEUE, [sent("a")]);
      await outbox.markRefused(QUEUE, [{ key: "a", epoch: 0, reason: "late" }]);
      expect(await outbox.find(QUEUE, "a")).toMatchObject({ state: "sent", reason: null });
    });

    test("a republication succeeds once, and a mark of an old epoch changes nothing (B4)", async () => {
      await register(["a"]);
      expect(await outbox.republish(QUEUE, "a", 0, MINE)).toEqual({ kind: "fenced" });
      await outbox.markSent(QUEUE, [sent("a")]);
      const won = await outbox.republish(QUEUE, "a", 0, MINE);
      expect(won).toMatchObject({ kind: "taken", row: { epoch: 1, state: "pending" } });
      expect(await outbox.republish(QUEUE, "a", 0, OTHER)).toEqual({ kind: "fenced" });
      await outbox.markSent(QUEUE, [sent("a", 0)]);
      expect(await outbox.find(QUEUE, "a")).toMatchObject({ state: "pending", epoch: 1 });
      await outbox.markSent(QUEUE, [sent("a", 1)]);
      expect(await outbox.find(QUEUE, "a")).toMatchObject({ state: "sent", epoch: 1 });
      expect(await outbox.republish(QUEUE, "gone", 0, MINE)).toEqual({ kind: "fenced" });
    });

    test("unsettled rows come in pages, and a row marked done never returns", async () => {
      await register(["a", "b", "c"]);
      await outbox.markSent(QUEUE, [sent("a"), sent("b")]);
      clock.advance(seconds(10));
      await outbox.markSent(QUEUE, [sent("c")]);
      const page = (afterSeq: number, limit: number) =>
        outbox.sentNotDone(QUEUE, { sentBefore: T0, afterSeq, limit });
      const [first] = await page(0, 1);
      expect(first).toMatchObject({ key: "a", body: entry("a").body });
      expect(keysOf(await page(first?.seq ?? 0, 10))).toEqual(["b"]);
      await outbox.markDone(QUEUE, ["a", "none"]);
      expect(keysOf(await page(0, 10))).toEqual(["b"]);
      expect(kinds(await register(["a"]))).toEqual(["sent"]);
      expect(await outbox.republish(QUEUE, "a", 0, MINE)).toEqual({ kind: "fenced" });
    });

    test("sent rows expire after the retention; pending rows never do (B5)", async () => {
      await register(["a", "b"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      clock.advance(days(45));
      expect(kinds(await register(["a"]))).toEqual(["taken"]);
      await outbox.markSent(QUEUE, [sent("a")]);
      clock.advance(days(45));
      expect(await outbox.purge(10)).toBe(1);
      expect(await outbox.find(QUEUE, "a")).toBeUndefined();
      expect(keysOf(await outbox.take(QUEUE, 10, OTHER))).toEqual(["b"]);
    });

    test("a purge may shorten the retention of sent and refused rows, never of pending ones (B5)", async () => {
      await register(["old", "refused", "pending", "new"]);
      await outbox.markSent(QUEUE, [sent("old")]);
      await outbox.markRefused(QUEUE, [{ key: "refused", epoch: 0, reason: "too large" }]);
      clock.advance(days(8));
      await outbox.markSent(QUEUE, [sent("new")]);
      const sentBefore = subtractMs(clock.now(), days(7));
      expect(await outbox.purge(1, sentBefore)).toBe(1);
      expect(await outbox.purge(10, sentBefore)).toBe(1);
      expect(await outbox.purge(10, sentBefore)).toBe(0);
      const rows = ["old", "refused", "pending", "new"].map((key) => outbox.find(QUEUE, key));
      const remaining = (await Promise.all(rows)).filter((row) => row !== undefined);
      expect(remaining.map(({ key }) => key)).toEqual(["pending", "new"]);
    });

    test("two connections share one outbox", async () => {
      const second = await again();
      await register(["a"]);
      expect(kinds(await second.register(QUEUE, [entry("a")], OTHER))).toEqual(["busy"]);
      const racers = Array.from({ length: 20 }, (_, n) => `r${n}`).map((key) => entry(key));
      const both = await Promise.all([
        outbox.register(QUEUE, racers, MINE),
        second.register(QUEUE, racers.toReversed(), OTHER),
      ]);
      const won = both.flatMap((results) => kinds(results)).filter((kind) => kind === "taken");
      expect(won).toHaveLength(20);
      await second.markSent(QUEUE, [sent("a")]);
      expect(kinds(await register(["a"]))).toEqual(["sent"]);
    });

    test("a closed outbox rejects calls with TG_CLOSED", async () => {
      await outbox.close();
      await expect(register(["a"])).rejects.toMatchObject({ code: "TG_CLOSED" });
    });
  });
}
