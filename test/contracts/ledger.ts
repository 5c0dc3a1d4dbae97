// The ledger's contract: the behaviour of every store. ledger.<store>.test.ts binds it to each
// store.

import { describe, expect, test } from "vitest";
import { days, durationMs, epochMs, minutes, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { ClaimRequest, ClaimResult, Ledger } from "../../src/ports/ledger.ts";
import type { Fence, LedgerScope, ObjectRef, RecordKey } from "../../src/ports/record.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";
import { describeLedgerListings } from "./ledger-listings.ts";
import { describeLedgerNotes } from "./ledger-notes.ts";

const SCOPE: LedgerScope = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "worker-1", leaseMs: seconds(30) };
const OTHER = { owner: "worker-2", leaseMs: seconds(30) };
const T0 = FAR_AHEAD;
const FAILURE = { errorClass: "schema", fingerprint: "f00d", message: "no column named id" };

const key = (name: string): RecordKey => asRecordKey(`k1:${name}`);
const ask = (name: string, object?: ObjectRef): ClaimRequest =>
  object === undefined
    ? { key: key(name), input: ANY_INPUT, receivedAt: T0 }
    : { key: key(name), input: ANY_INPUT, receivedAt: T0, object };
const one = <T>(results: readonly T[]): T => {
  expect(results).toHaveLength(1);
  return results[0] as T;
};

function fenceIn(result: ClaimResult): Fence {
  if (result.kind !== "claimed") throw new Error(`expected a claim, got ${JSON.stringify(result)}`);
  return result.fence;
}

export function describeLedger(binding: StoreBinding<Ledger>): void {
  describe(`the ledger on ${binding.name}`, () => {
    let clock: ManualClock;
    let ledger: Ledger;
    let again: () => Promise<Ledger>;
    openBeforeEach(binding, T0, (opened) => {
      ({ clock, store: ledger, again } = opened);
    });

    const claim = async (name: string, lease = LEASE, object?: ObjectRef) =>
      one(await ledger.claim(SCOPE, [ask(name, object)], lease));
    const commit = async (name: string, fence: Fence, object?: ObjectRef) => {
      const what = { key: key(name), fence, digest: `digest of ${name}` };
      return one(await ledger.commit(SCOPE, [object === undefined ? what : { ...what, object }]));
    };
    const fail = async (name: string, fence: Fence | null, permanent = false) =>
      one(
        await ledger.fail(SCOPE, [
          {
            key: key(name),
            fence,
            owner: "worker-1",
            input: ANY_INPUT,
            receivedAt: T0,
            permanent,
            failure: FAILURE,
          },
        ]),
      );
    const direct = (name: string, object?: ObjectRef) => {
      const what = {
        key: key(name),
        owner: "worker-1",
        input: ANY_INPUT,
        receivedAt: T0,
        startedAt: T0,
        digest: `digest of ${name}`,
      };
      return object === undefined ? what : { ...what, object };
    };

    test("a claim returns a fence and a lease, and a second claim gets the end of that lease", async () => {
      expect(await claim("a")).toEqual({
        kind: "claimed",
        fence: T0,
        attempt: 1,
        leaseUntil: T0 + 30_000,
        lane: ANY_INPUT.lane,
        eventTime: ANY_INPUT.eventTime,
      });
      expect(await claim("a", OTHER)).toEqual({
        kind: "busy",
        until: T0 + 30_000,
        owner: "worker-1",
      });
    });

    test("a committed record is a duplicate from then on, with its digest", async () => {
      const fence = fenceIn(await claim("a"));
      expect(await commit("a", fence)).toEqual({ kind: "committed" });
      clock.advance(days(44));
      expect(await claim("a", OTHER)).toEqual({
        kind: "duplicate",
        fence,
        digest: "digest of a",
      });
    });

    test("an expired lease can be takeover over, and its previous holder is fenced", async () => {
      const old = fenceIn(await claim("a"));
      clock.advance(seconds(30));
      const takeover = await claim("a", OTHER);
      expect(takeover).toMatchObject({ kind: "claimed", attempt: 2 });
      const held = [{ key: key("a"), fence: old }];
      const before = await ledger.show(SCOPE, key("a"));
      expect(await ledger.renew(SCOPE, held, seconds(30))).toEqual([{ kind: "fenced" }]);
      expect(await commit("a", old)).toEqual({ kind: "fenced" });
      expect(await fail("a", old)).toEqual({ kind: "fenced" });
      expect(await ledger.release(SCOPE, held)).toEqual([{ kind: "fenced" }]);
      expect(await ledger.show(SCOPE, key("a"))).toEqual(before);
      expect(fenceIn(takeover)).toBeGreaterThan(old);
      expect(await commit("a", fenceIn(takeover))).toEqual({ kind: "committed" });
    });

    test("a renewed lease keeps others out for as long as it says", async () => {
      const fence = fenceIn(await claim("a"));
      clock.advance(seconds(20));
      expect(await ledger.renew(SCOPE, [{ key: key("a"), fence }], minutes(1))).toEqual([
        { kind: "renewed", leaseUntil: T0 + 80_000 },
      ]);
      clock.advance(durationMs(59_999));
      expect(await claim("a", OTHER)).toMatchObject({ kind: "busy", until: T0 + 80_000 });
      clock.advance(durationMs(1));
      expect(await claim("a", OTHER)).toMatchObject({ kind: "claimed" });
    });

    test("a late commit succeeds if no other worker has takeover over", async () => {
      const fence = fenceIn(await claim("a"));
      clock.advance(minutes(10));
      expect(await commit("a", fence)).toEqual({ kind: "committed" });
    });

    test("a call repeated after a lost response gets the same answer and changes nothing", async () => {
      const fence = fenceIn(await claim("a"));
      expect(await commit("a", fence)).toEqual({ kind: "committed" });
      const before = await ledger.show(SCOPE, key("a"));
      clock.advance(seconds(1));
      expect(await commit("a", fence)).toEqual({ kind: "committed" });
      expect(await ledger.show(SCOPE, key("a"))).toEqual(before);
      const failing = fenceIn(await claim("b"));
      const first = await fail("b", failing);
      expect(await fail("b", failing)).toEqual(first);
      const released = fenceIn(await claim("c"));
      const held = [{ key: key("c"), fence: released }];
      expect(await ledger.release(SCOPE, held)).toEqual([{ kind: "released" }]);
      expect(await ledger.release(SCOPE, held)).toEqual([{ kind: "released" }]);
    });

    test("a retryable failure can be claimed immediately, and its attempts are counted", async () => {
      const first = fenceIn(await claim("a"));
      expect(await fail("a", first)).toEqual({ kind: "failed", fence: first, attempts: 1 });
      const second = await claim("a", OTHER);
      expect(second).toMatchObject({ kind: "claimed", attempt: 2 });
      expect(fenceIn(second)).toBeGreaterThan(first);
    });

    test("a release does not count as an attempt, but the fence has grown", async () => {
      const first = fenceIn(await claim("a"));
      await ledger.release(SCOPE, [{ key: key("a"), fence: first }]);
      const second = await claim("a", OTHER);
      expect(second).toMatchObject({ kind: "claimed", attempt: 1 });
      expect(fenceIn(second)).toBeGreaterThan(first);
      expect(await commit("a", first)).toEqual({ kind: "fenced" });
    });

    test("a parked record stays parked, with its reason, until it is reopened", async () => {
      const fence = fenceIn(await claim("a"));
      expect(await fail("a", fence, true)).toEqual({ kind: "parked", fence, attempts: 1 });
      expect(await claim("a", OTHER)).toEqual({
        kind: "parked",
        fence,
        attempts: 1,
        failure: FAILURE,
      });
      expect(await ledger.reopen(SCOPE, [key("a"), key("b")])).toEqual([
        { kind: "reopened" },
        { kind: "unchanged" },
      ]);
      expect(await claim("a", OTHER)).toMatchObject({ kind: "claimed", attempt: 1 });
    });

    test("one write commits an unclaimed record, or returns why it cannot", async () => {
      expect(await ledger.commitDirect(SCOPE, [direct("a")])).toEqual([
        { kind: "committed", fence: T0 },
      ]);
      expect(await ledger.commitDirect(SCOPE, [direct("a")])).toEqual([
        { kind: "duplicate", fence: T0, digest: "digest of a" },
      ]);
      await claim("b", OTHER);
      expect(await ledger.commitDirect(SCOPE, [direct("b")])).toEqual([
        { kind: "busy", until: T0 + 30_000, owner: "worker-2" },
      ]);
      expect(await fail("c", null)).toMatchObject({ kind: "failed", attempts: 1 });
      expect(await fail("c", null)).toMatchObject({ kind: "failed", attempts: 2 });
      expect(await ledger.commitDirect(SCOPE, [direct("c")])).toMatchObject([
        { kind: "committed" },
      ]);
      expect(await fail("c", null)).toEqual({ kind: "fenced" });
      clock.advance(seconds(30));
      expect(await ledger.commitDirect(SCOPE, [direct("b")])).toMatchObject([
        { kind: "committed" },
      ]);
    });

    test("hasRecords finds records in any state, by scope, until they expire", async () => {
      const names = ["claimed", "committed", "failed", "parked", "released", "absent"];
      const keys = names.map(key);
      await claim("claimed");
      await ledger.commitDirect(SCOPE, [direct("committed")]);
      await fail("failed", null);
      await fail("parked", null, true);
      const fence = fenceIn(await claim("released"));
      await ledger.release(SCOPE, [{ key: key("released"), fence }]);
      expect(await ledger.hasRecords(SCOPE, keys)).toEqual([true, true, true, true, true, false]);
      expect(await ledger.hasRecords({ ...SCOPE, generation: 2 }, keys)).not.toContain(true);
      expect(await ledger.hasRecords({ ...SCOPE, pipeline: "other" }, keys)).not.toContain(true);
      clock.advance(days(45) - 1);
      expect(await ledger.hasRecords(SCOPE, keys.slice(0, 1))).toEqual([true]);
      clock.advance(1);
      expect(await ledger.hasRecords(SCOPE, keys)).not.toContain(true);
    });

    test("hasRecords answers in the order of the keys, also for a duplicate key, and sees other connections", async () => {
      const keys = Array.from({ length: 250 }, (_, at) => key(`many-${at}`));
      const other = await again();
      const written = keys.filter((_, at) => at % 3 === 0);
      await other.claim(
        SCOPE,
        written.map((each) => ({ key: each, input: ANY_INPUT, receivedAt: T0 })),
        LEASE,
      );
      const asked = [...keys, ...keys.toReversed()];
      const expected = asked.map((each) => written.includes(each));
      expect(await ledger.hasRecords(SCOPE, asked)).toEqual(expected);
      expect(await ledger.hasRecords(SCOPE, [])).toEqual([]);
      await other.close();
    });

    test("searchRecords finds records by a part of a name in their input, by scope", async () => {
      const version = { versionId: null, etag: null, size: null, sequencer: null };
      const named = (messageId: string, object: string | null, dedupeKey: string | null) => ({
        ...ANY_INPUT,
        messageId,
        dedupeKey,
        object: object === null ? null : { bucket: "in", key: object, ...version },
      });
      await ledger.commitDirect(SCOPE, [
        { ...direct("a"), input: named("m-1", "2026/ä b.csv", 'say "hi" \\ 100%_') },
        { ...direct("b"), input: named("m-2", "other.csv", null) },
        { ...direct("none"), input: named("m-3", null, "k") },
      ]);
      await ledger.claim(SCOPE, [{ ...ask("open"), input: named("m-4", null, "k") }], LEASE);
      const search = (text: string) => ledger.searchRecords(SCOPE, text, 10);
      for (const text of ["2026", "ä b", 'y "hi" \\ 100%_', "m-1", "s3://in/2026/ä"]) {
        expect([text, await search(text)]).toEqual([text, [key("a")]]);
      }
      expect((await search("s3://in/")).toSorted()).toEqual([key("a"), key("b")]);
      expect(await search("m-4")).toEqual([key("open")]);
      expect(await search("M-1")).toEqual([]);
      expect(await search("100_")).toEqual([]);
      expect(await ledger.searchRecords(SCOPE, "s3://in/", 1)).toHaveLength(1);
      expect(await ledger.searchRecords({ ...SCOPE, generation: 2 }, "m-1", 10)).toEqual([]);
      clock.advance(days(45));
      expect(await search("m-1")).toEqual([]);
    });

    test("the history of a record has every attempt, its owner and its error", async () => {
      const first = fenceIn(await claim("a"));
      clock.advance(seconds(1));
      await fail("a", first);
      const second = fenceIn(await claim("a", OTHER));
      clock.advance(seconds(1));
      await ledger.commit(SCOPE, [
        { key: key("a"), fence: second, digest: "d", effects: "3 rows into orders" },
      ]);
      const view = await ledger.show(SCOPE, key("a"));
      expect(view?.record).toMatchObject({
        kind: "committed",
        attempts: 2,
        effects: "3 rows into orders",
        seenAt: T0,
        changedAt: T0 + 2_000,
      });
      expect(view?.entries.map(({ status, fence, seq, at }) => [status, fence, seq, at])).toEqual([
        ["received", first, 0, T0],
        ["started", first, 1, T0],
        ["failed", first, 2, T0 + 1_000],
        ["received", second, 0, T0],
        ["started", second, 1, T0 + 1_000],
        ["succeeded", second, 2, T0 + 2_000],
      ]);
      expect(view?.entries[2]?.failure).toEqual(FAILURE);
      expect(view?.entries[4]?.owner).toBe("worker-2");
    });

    test("results come in the order of the requests, also for a duplicate key", async () => {
      const results = await ledger.claim(SCOPE, [ask("a"), ask("b"), ask("a")], LEASE);
      expect(results.map(({ kind }) => kind)).toEqual(["claimed", "claimed", "busy"]);
      const [a, b] = results.map((result) => (result.kind === "claimed" ? result.fence : 0));
      const answers = await ledger.commit(SCOPE, [
        { key: key("b"), fence: fenceOf((b ?? 0) - 1), digest: "old" },
        { key: key("a"), fence: fenceOf(a ?? 0), digest: "new" },
        { key: key("c"), fence: fenceOf(1), digest: "never claimed" },
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(["fenced", "committed", "fenced"]);
    });

    test("pipelines and generations are not deduplicated against each other", async () => {
      const fence = fenceIn(await claim("a"));
      await commit("a", fence);
      for (const scope of [
        { pipeline: "orders", generation: 2 },
        { pipeline: "invoices", generation: 1 },
      ]) {
        expect(await ledger.claim(scope, [ask("a")], LEASE)).toMatchObject([{ kind: "claimed" }]);
        expect(await ledger.show(scope, key("b"))).toBeUndefined();
      }
      const counts = await ledger.stats();
      expect(counts).toMatchObject([
        { pipeline: "invoices", generation: 1, claimed: 1, committed: 0 },
        { pipeline: "orders", generation: 1, claimed: 0, committed: 1 },
        { pipeline: "orders", generation: 2, claimed: 1, committed: 0 },
      ]);
    });

    test("an expired record counts as absent, purged or not, and fences still grow", async () => {
      const old = fenceIn(await claim("a"));
      await commit("a", old);
      await commit("b", fenceIn(await claim("b")));
      const forgotten = { key: key("c"), fence: fenceIn(await claim("c")) };
      clock.advance(days(45));
      expect(await commit("c", forgotten.fence)).toEqual({ kind: "fenced" });
      expect(await ledger.renew(SCOPE, [forgotten], seconds(30))).toEqual([{ kind: "fenced" }]);
      expect(await ledger.show(SCOPE, key("a"))).toBeUndefined();
      expect(await ledger.stats()).toEqual([]);
      expect(await commit("a", old)).toEqual({ kind: "fenced" });
      const fresh = await claim("a");
      expect(fresh).toEqual({
        kind: "claimed",
        fence: T0 + days(45),
        attempt: 1,
        leaseUntil: T0 + days(45) + 30_000,
        lane: ANY_INPUT.lane,
        eventTime: ANY_INPUT.eventTime,
      });
      const view = await ledger.show(SCOPE, key("a"));
      expect(view?.entries.map(({ status }) => status)).toEqual(["received", "started"]);
      await ledger.purge(100);
      expect(await claim("b")).toMatchObject({ kind: "claimed", attempt: 1 });
      expect(await claim("a", OTHER)).toMatchObject({ kind: "busy" });
    });

    describe("objects", () => {
      const at = (sequencer: string): ObjectRef => ({ bucket: "in", key: "x.csv", sequencer });
      const apply = async (name: string, sequencer: string) => {
        const result = await claim(name, LEASE, at(sequencer));
        return result.kind === "claimed"
          ? (await commit(name, result.fence, at(sequencer))).kind
          : result.kind;
      };

      test("an event older than the applied one is stale", async () => {
        expect(await apply("new", "0055AED6DCD90281E6")).toBe("committed");
        expect(await claim("old", LEASE, at("0055AED6DCD90281E5"))).toEqual({
          kind: "stale",
          appliedSequencer: "0055AED6DCD90281E6",
        });
        expect(await ledger.commitDirect(SCOPE, [direct("old", at("0055"))])).toMatchObject([
          { kind: "stale" },
        ]);
        expect(await ledger.show(SCOPE, key("old"))).toBeUndefined();
        expect(await ledger.showObject(SCOPE, "in", "x.csv")).toEqual({
          sequencer: "0055AED6DCD90281E6",
          appliedKey: key("new"),
          expiresAt: T0 + days(45),
        });
      });

      test("a stale event ends its unfinished record, also one that a worker left behind", async () => {
        await fail("failed", fenceIn(await claim("failed", LEASE, at("01"))));
        await fail("parked", fenceIn(await claim("parked", LEASE, at("01"))), true);
        const released = { key: key("released"), fence: fenceIn(await claim("released")) };
        await ledger.release(SCOPE, [released]);
        const abandoned = fenceIn(await claim("left", LEASE, at("01")));
        expect(await apply("newer", "02")).toBe("committed");
        expect(await claim("left", OTHER, at("01"))).toMatchObject({ kind: "busy" });
        clock.advance(seconds(30));
        const note = { kind: "tried", name: "a", at: T0, count: 1, body: "b" } as const;
        for (const name of ["failed", "released", "left", "parked"]) {
          const request = { ...ask(name, at("01")), note };
          expect(await ledger.claim(SCOPE, [request], OTHER)).toMatchObject([{ kind: "stale" }]);
          const view = await ledger.show(SCOPE, key(name));
          const isParked = name === "parked"; // Its dead letter waits for an operator.
          expect(view?.record).toMatchObject(
            isParked ? { kind: "parked" } : { kind: "committed", superseded: true },
          );
          expect(view?.entries.at(-1)?.status).toBe(isParked ? "failed" : "superseded");
        }
        expect(await ledger.findNote(SCOPE, "tried", "a")).toBeUndefined();
        expect(await commit("left", abandoned, at("01"))).toEqual({ kind: "fenced" });
        expect(await claim("left", LEASE, at("01"))).toMatchObject({ kind: "duplicate" });
        expect(await claim("left", LEASE, at("03"))).toMatchObject({ kind: "claimed", attempt: 1 });
      });

      test("another record of the same write is neither stale nor superseded", async () => {
        expect(await apply("created", "01")).toBe("committed");
        expect(await apply("tagged", "0100")).toBe("committed");
        expect((await ledger.showObject(SCOPE, "in", "x.csv"))?.appliedKey).toBe(key("tagged"));
      });

      test("a superseded commit is written without its effects", async () => {
        const slow = fenceIn(await claim("slow", LEASE, at("01")));
        expect(await apply("fast", "02")).toBe("committed");
        expect(await commit("slow", slow, at("01"))).toEqual({ kind: "superseded" });
        expect(await commit("slow", slow, at("01"))).toEqual({ kind: "superseded" });
        expect(await claim("slow", OTHER, at("01"))).toMatchObject({ kind: "duplicate" });
        expect((await ledger.showObject(SCOPE, "in", "x.csv"))?.appliedKey).toBe(key("fast"));
        expect((await ledger.show(SCOPE, key("slow")))?.record).toMatchObject({ superseded: true });
      });

      test("the same state put again is a duplicate that advances the sequencer", async () => {
        expect(await apply("a", "01")).toBe("committed");
        expect(await apply("a", "03")).toBe("duplicate");
        expect(await apply("b", "02")).toBe("stale");
        expect((await ledger.showObject(SCOPE, "in", "x.csv"))?.sequencer).toBe("03");
      });

      test("a state that comes back after another is processed again", async () => {
        expect(await apply("a", "01")).toBe("committed");
        expect(await ledger.commitDirect(SCOPE, [direct("b", at("02"))])).toMatchObject([
          { kind: "committed" },
        ]);
        expect(await claim("a", LEASE, at("03"))).toMatchObject({ kind: "claimed", attempt: 1 });
      });

      test("records of one object in one batch are applied in the order of the batch", async () => {
        const commits = [direct("a", at("01")), direct("b", at("03")), direct("c", at("02"))];
        const results = await ledger.commitDirect(SCOPE, commits);
        expect(results.map(({ kind }) => kind)).toEqual(["committed", "committed", "stale"]);
        expect((await ledger.showObject(SCOPE, "in", "x.csv"))?.appliedKey).toBe(key("b"));
      });

      test("an object without a sequencer is not ordered", async () => {
        const unordered = { bucket: "in", key: "x.csv", sequencer: null };
        expect(await apply("a", "01")).toBe("committed");
        const fence = fenceIn(await claim("listed", LEASE, unordered));
        expect(await commit("listed", fence, unordered)).toEqual({ kind: "committed" });
        expect((await ledger.showObject(SCOPE, "in", "x.csv"))?.appliedKey).toBe(key("a"));
      });
    });

    test("a second connection sees what the first one wrote", async () => {
      const second = await again();
      const fence = fenceIn(await claim("a"));
      expect(await second.claim(SCOPE, [ask("a")], OTHER)).toMatchObject([{ kind: "busy" }]);
      const own = one(await second.claim(SCOPE, [ask("b")], OTHER));
      expect(await claim("b")).toMatchObject({ kind: "busy", owner: "worker-2" });
      expect(await second.commit(SCOPE, [{ key: key("a"), fence, digest: "d" }])).toEqual([
        { kind: "committed" },
      ]);
      expect(await claim("a")).toMatchObject({ kind: "duplicate", digest: "d" });
      expect(await commit("b", fenceIn(own))).toEqual({ kind: "committed" });
    });

    test("exactly one of many concurrent claims succeeds", async () => {
      const second = await again();
      const asking = Array.from({ length: 12 }, (_, n) =>
        (n % 2 === 0 ? ledger : second).claim(SCOPE, [ask("a"), ask("b")], LEASE),
      );
      const results = (await Promise.all(asking)).flat();
      expect(results.filter(({ kind }) => kind === "claimed")).toHaveLength(2);
      expect(results.filter(({ kind }) => kind === "busy")).toHaveLength(22);
    });

    test("of many concurrent events of an object the newest is applied last", async () => {
      const second = await again();
      const objects = Array.from({ length: 8 }, (_, n) => `${n}.csv`);
      const send = (name: string, sequencer: string, n: number) => {
        const event = direct(`${name} ${sequencer}`, { bucket: "in", key: name, sequencer });
        return (n % 2 === 0 ? ledger : second).commitDirect(SCOPE, [event]);
      };
      // The first wave finds no object, the second one finds it being changed.
      for (const wave of [
        ["02", "04", "03"],
        ["06", "09", "05", "08", "07"],
      ]) {
        const sent = objects.flatMap((name) =>
          wave.map((sequencer, n) => send(name, sequencer, n)),
        );
        for (const { kind } of (await Promise.all(sent)).flat()) {
          expect(["committed", "stale"]).toContain(kind);
        }
        const newest = wave.toSorted().at(-1);
        for (const name of objects) {
          const object = await ledger.showObject(SCOPE, "in", name);
          expect(object).toMatchObject({ sequencer: newest, appliedKey: key(`${name} ${newest}`) });
        }
      }
    });

    test("exactly one of many concurrent direct commits is accepted", async () => {
      const second = await again();
      const sent = Array.from({ length: 24 }, (_, n) => {
        const name = `${Math.floor(n / 4)}`;
        const event = direct(name, { bucket: "in", key: name, sequencer: "01" });
        return (n % 2 === 0 ? ledger : second).commitDirect(SCOPE, [event]);
      });
      const kinds = (await Promise.all(sent)).flat().map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === "committed")).toHaveLength(6);
      expect(kinds.filter((kind) => kind === "duplicate")).toHaveLength(18);
    });

    test("a batch out of bounds is rejected as a whole, and none of it is written", async () => {
      const good = ask("good");
      const bad: [string, () => Promise<unknown>][] = [
        ["empty key", () => ledger.claim(SCOPE, [good, { ...good, key: asRecordKey("") }], LEASE)],
        [
          "long key",
          () => ledger.claim(SCOPE, [good, { ...good, key: asRecordKey("k".repeat(257)) }], LEASE),
        ],
        ["pipeline", () => ledger.claim({ pipeline: "a b", generation: 1 }, [good], LEASE)],
        ["generation", () => ledger.claim({ pipeline: "a", generation: 0.5 }, [good], LEASE)],
        ["lease", () => ledger.claim(SCOPE, [good], { owner: "w", leaseMs: days(1) })],
        ["owner", () => ledger.claim(SCOPE, [good], { owner: "", leaseMs: seconds(1) })],
        [
          "sequencer",
          () =>
            ledger.claim(
              SCOPE,
              [good, ask("y", { bucket: "b", key: "k", sequencer: "xyz" })],
              LEASE,
            ),
        ],
        [
          "object key",
          () =>
            ledger.claim(
              SCOPE,
              [good, ask("y", { bucket: "b", key: "ä".repeat(513), sequencer: "1" })],
              LEASE,
            ),
        ],
        ["NUL", () => ledger.claim(SCOPE, [good, { ...good, key: asRecordKey("a\0") }], LEASE)],
        [
          "surrogate",
          () => ledger.claim(SCOPE, [good, { ...good, key: asRecordKey("\ud800") }], LEASE),
        ],
        [
          "instant",
          () => ledger.claim(SCOPE, [{ ...good, receivedAt: epochMs(Number.NaN) }], LEASE),
        ],
        [
          "fence",
          () => ledger.commit(SCOPE, [{ key: key("a"), fence: fenceOf(0.5), digest: "d" }]),
        ],
        ["digest", () => ledger.commit(SCOPE, [{ key: key("a"), fence: fenceOf(1), digest: "" }])],
        [
          "batch",
          () =>
            ledger.claim(
              SCOPE,
              Array.from({ length: 1_001 }, (_, n) => ask(`${n}`)),
              LEASE,
            ),
        ],
      ];
      for (const [what, call] of bad) {
        await expect(call(), what).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
      }
      expect(await ledger.claim(SCOPE, [], LEASE)).toEqual([]);
      expect(await ledger.stats()).toEqual([]);
    });
  });
  describeLedgerListings(binding);
  describeLedgerNotes(binding);
}
