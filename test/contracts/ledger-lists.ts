// The contract of inputs, lists and runs, beside the ledger's contract (ledger.ts): the behaviour
// of every store. The DynamoDB binding opens a table for listing.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addMs, days, durationMs, epochMs, hours, minutes, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type {
  Ledger,
  ListedRecord,
  RecordPage,
  RecordQuery,
  RunRow,
} from "../../src/ports/ledger.ts";
import type { Fence, InputObject, LedgerScope, RecordInput } from "../../src/ports/record.ts";
import { FAR_AHEAD, type ManualClock } from "../support/manual-clock.ts";
import { anyInput } from "../support/stores/any-input.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";

const SCOPE: LedgerScope = { pipeline: "orders", generation: 1 };
const OTHER_SCOPE: LedgerScope = { pipeline: "orders", generation: 2 };
const LEASE = { owner: "worker-1", leaseMs: seconds(30) };
const T0 = FAR_AHEAD;
const FAILURE = { errorClass: "schema", fingerprint: "f00d", message: "no column named id" };
const PAGES_MAX = 1_000;

const keyOf = (name: string) => asRecordKey(`k1:${name}`);
const at = (ms: number) => addMs(T0, durationMs(ms));

function objectInput(key: string, changes: Partial<InputObject> = {}): RecordInput {
  const versionId = "3sL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY";
  const version = { versionId, etag: "d41d8cd9", size: 1_024, sequencer: "0055AED6DCD90281E5" };
  const object = { bucket: "in", key, ...version, ...changes };
  return anyInput({ kind: "object", source: null, dedupeKey: null, object });
}

export function describeLedgerLists(binding: StoreBinding<Ledger>): void {
  describe(`inputs, lists and runs on ${binding.name}`, () => {
    let clock: ManualClock;
    let ledger: Ledger;
    let again: () => Promise<Ledger>;
    openBeforeEach(binding, T0, (opened) => {
      ({ clock, store: ledger, again } = opened);
    });

    const claim = async (name: string, input: RecordInput) => {
      const request = { key: keyOf(name), receivedAt: clock.now(), input };
      const [result] = await ledger.claim(SCOPE, [request], LEASE);
      if (result?.kind !== "claimed") throw new Error(`the claim is ${result?.kind}`);
      return result;
    };
    const commit = (name: string, fence: Fence) =>
      ledger.commit(SCOPE, [{ key: keyOf(name), fence, digest: "d", effects: "e" }]);
    const directly = async (name: string, input: RecordInput, scope = SCOPE) => {
      const times = { receivedAt: clock.now(), startedAt: clock.now() };
      const outcome = { key: keyOf(name), owner: "w", ...times, input, digest: "d" };
      const [result] = await ledger.commitDirect(scope, [outcome]);
      return result;
    };
    const fail = (name: string, fence: Fence | null, input: RecordInput, permanent = false) =>
      ledger.fail(SCOPE, [
        {
          key: keyOf(name),
          fence,
          owner: "w",
          receivedAt: clock.now(),
          input,
          permanent,
          failure: FAILURE,
        },
      ]);
    const inputOf = async (name: string) => (await ledger.show(SCOPE, keyOf(name)))?.input;
    const nameOf = ({ key }: ListedRecord) => key.slice("k1:".length);
    const listAll = async (query: RecordQuery, limit = 3, scope = SCOPE): Promise<string[]> => {
      const names: string[] = [];
      let after: string | null = null;
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const page: RecordPage = await ledger.listRecords(scope, query, { after, limit });
        expect(page.records.length).toBeLessThanOrEqual(limit);
        names.push(...page.records.map(nameOf));
        if (page.next === null) return names;
        after = page.next;
      }
      throw new Error("the list has no end");
    };

    test("every state of a record shows the whole input", async () => {
      const object = objectInput("a/ä b.csv", { versionId: null });
      const message = anyInput({
        eventId: 'id "1"',
        traceId: "trace-1",
        eventTime: epochMs(-1),
        lane: { lane: "late", watermark: at(-5) },
        partition: "p\n1",
      });
      const { fence } = await claim("claimed", object);
      expect(await inputOf("claimed")).toEqual(object);
      await commit("claimed", fence);
      expect(await inputOf("claimed")).toEqual(object);
      await directly("direct", message);
      expect(await inputOf("direct")).toEqual(message);
      await fail("failed", null, message);
      expect(await inputOf("failed")).toEqual(message);
      await fail("parked", null, object, true);
      expect(await inputOf("parked")).toEqual(object);
      await ledger.reopen(SCOPE, [keyOf("parked")]);
      expect(await inputOf("parked")).toEqual(object);
    });

    test("a retry keeps event and lane, and has its own message and run (I1, I2)", async () => {
      const first = anyInput({ lane: { lane: "late", watermark: at(0) }, eventTime: at(-60) });
      const { fence, lane, eventTime } = await claim("a", first);
      expect([lane, eventTime]).toEqual([first.lane, first.eventTime]);
      await fail("a", fence, first);
      const second = anyInput({
        lane: { lane: "live", watermark: at(9) },
        eventTime: at(-1),
        partition: "other",
        messageId: "message-2",
        sentAt: at(7),
        traceId: "trace-2",
        runId: "run-2",
      });
      const { messageId, sentAt, traceId, runId } = second;
      const merged = { ...first, messageId, sentAt, traceId, runId };
      const retried = await claim("a", second);
      expect([retried.lane, retried.eventTime]).toEqual([first.lane, first.eventTime]);
      expect(await inputOf("a")).toEqual(merged);
      await fail("a", retried.fence, second, true);
      await ledger.reopen(SCOPE, [keyOf("a")]);
      const redriven = await claim("a", anyInput());
      // A redrive keeps both, too.
      expect([redriven.lane, redriven.eventTime]).toEqual([first.lane, first.eventTime]);
      await ledger.renew(SCOPE, [{ key: keyOf("a"), fence: redriven.fence }], seconds(60));
      expect(await commit("a", redriven.fence)).toEqual([{ kind: "committed" }]);
      expect(await inputOf("a")).toEqual({ ...first, ...lastAttempt(anyInput()) });
    });

    test("a direct commit in another lane than the recorded one is busy (S6)", async () => {
      await fail("a", null, anyInput({ lane: { lane: "late", watermark: at(0) } }));
      expect(await directly("a", anyInput())).toMatchObject({ kind: "busy" });
      const late = anyInput({ lane: { lane: "late", watermark: at(5) } });
      expect(await directly("a", late)).toMatchObject({ kind: "committed" });
      expect((await inputOf("a"))?.lane).toEqual({ lane: "late", watermark: at(0) });
    });

    test("a direct commit at another event time than the recorded one is busy (S6)", async () => {
      await fail("a", null, anyInput({ eventTime: at(-60) }));
      expect(await directly("a", anyInput({ eventTime: at(-1) }))).toMatchObject({ kind: "busy" });
      const same = anyInput({ eventTime: at(-60), messageId: "message-2" });
      expect(await directly("a", same)).toMatchObject({ kind: "committed" });
    });

    test("an input out of bounds is rejected, and nothing is written", async () => {
      const bad: RecordInput[] = [
        anyInput({ eventTime: epochMs(Number.NaN) }),
        anyInput({ sentAt: epochMs(-1) }),
        anyInput({ dedupeKey: "a\0b" }),
        anyInput({ partition: "\ud800" }),
        anyInput({ messageId: "m".repeat(1_025) }),
        anyInput({ kind: "letter" as "own" }),
        anyInput({ lane: { lane: "slow" as "late", watermark: null } }),
        objectInput(""),
        objectInput("k", { sequencer: "xyz" }),
      ];
      for (const input of bad) {
        await expect(directly("a", input)).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
      }
      expect(await inputOf("a")).toBeUndefined();
    });

    test("the newest records come first on request, in exactly the reverse order", async () => {
      for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
        await directly(name, anyInput({ eventTime: at(10 * Math.floor(index / 2)) }));
        clock.advance(seconds(1));
      }
      await directly("x", anyInput({ eventTime: at(20) }), OTHER_SCOPE);
      const newestFirst = true;
      for (const by of ["event-time", "commit-time"] as const) {
        for (const limit of [1, 2, 5, 100]) {
          expect(await listAll({ by, newestFirst }, limit)).toEqual(["e", "d", "c", "b", "a"]);
        }
      }
      const range = { by: "event-time", newestFirst, from: at(10), to: at(20) } as const;
      expect(await listAll(range, 1)).toEqual(["d", "c"]);
      const refused = ledger.listRecords(
        SCOPE,
        { by: "object", newestFirst },
        { after: null, limit: 1 },
      );
      await expect(refused).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    });

    test("records are listed by event time, then by key, whatever their state", async () => {
      await directly("c", anyInput({ eventTime: at(20) }));
      await claim("b", anyInput({ eventTime: at(20) }));
      await fail("d", null, anyInput({ eventTime: at(10) }));
      await fail("e", null, anyInput({ eventTime: epochMs(-5) }), true);
      await directly("a", anyInput({ eventTime: at(30) }));
      await directly("x", anyInput({ eventTime: at(20) }), OTHER_SCOPE);
      const by = "event-time";
      for (const limit of [1, 2, 5, 100]) {
        expect(await listAll({ by }, limit)).toEqual(["e", "d", "b", "c", "a"]);
      }
      expect(await listAll({ by, from: at(10), to: at(30) })).toEqual(["d", "b", "c"]);
      expect(await listAll({ by, from: at(20), to: at(20) })).toEqual([]);
      expect(await listAll({ by }, 3, OTHER_SCOPE)).toEqual(["x"]);
      expect(await listAll({ by, outcomes: ["claimed", "parked"] }, 1)).toEqual(["e", "b"]);
      const { records } = await ledger.listRecords(SCOPE, { by }, { after: null, limit: 5 });
      expect(records.map(({ record }) => record.kind)).toEqual([
        "parked",
        "failed",
        "claimed",
        "committed",
        "committed",
      ]);
      expect(records[2]?.input).toEqual(anyInput({ eventTime: at(20) }));
    });

    test("committed records are listed by the time of their commit", async () => {
      const { fence } = await claim("first", anyInput({ eventTime: at(90) }));
      await directly("second", anyInput({ eventTime: at(80) }));
      clock.advance(seconds(1));
      await commit("first", fence);
      await fail("failed", null, anyInput());
      clock.advance(seconds(1));
      await directly("third", anyInput({ eventTime: at(-80) }));
      const by = "commit-time";
      expect(await listAll({ by }, 1)).toEqual(["second", "first", "third"]);
      expect(await listAll({ by, from: at(1_000), to: at(2_000) })).toEqual(["first"]);
      await expect(listAll({ by, outcomes: ["parked"] })).rejects.toMatchObject({
        code: "TG_VALUE_INVALID",
      });
    });

    test("records are listed by object, within a bucket and a prefix of its keys", async () => {
      const names = ["a", "a/", "a/1", "a/1\u{10ffff}", "a/2", "a/ä", "a/🌊", "a0", "b"];
      for (const [n, name] of names.entries()) await directly(`${n}`, objectInput(name));
      await directly("again", objectInput("a/1"));
      await directly("other", objectInput("a/1", { bucket: "in-2" }));
      await directly("none", anyInput());
      const by = "object";
      const bucket = "in";
      const inOrder = ["0", "1", "2", "again", "3", "4", "5", "6", "7", "8"];
      for (const limit of [1, 2, 100]) {
        expect(await listAll({ by, bucket }, limit)).toEqual(inOrder);
        expect(await listAll({ by }, limit)).toEqual([...inOrder, "other"]);
      }
      const slash = ["1", "2", "again", "3", "4", "5", "6"];
      expect(await listAll({ by, bucket, prefix: "a/" }, 2)).toEqual(slash);
      expect(await listAll({ by, bucket, prefix: "a/1" }, 1)).toEqual(["2", "again", "3"]);
      expect(await listAll({ by, bucket, prefix: "a/1\u{10ffff}" })).toEqual(["3"]);
      expect(await listAll({ by, bucket, prefix: "" })).toEqual(inOrder);
      expect(await listAll({ by, bucket, prefix: "c" })).toEqual([]);
      expect(await listAll({ by, bucket: "i" })).toEqual([]);
      const keys = (keyFrom: string, keyTo: string) => ({ by, bucket, keyFrom, keyTo }) as const;
      expect(await listAll(keys("a/1", "a/1"), 1)).toEqual(["2", "again"]);
      expect(await listAll(keys("a/", "a/2"), 2)).toEqual(["1", "2", "again", "3", "4"]);
      expect(await listAll(keys("a/10", "a/ä"))).toEqual(["3", "4", "5"]);
      expect(await listAll({ by, bucket, keyFrom: "a/🌊" })).toEqual(["6", "7", "8"]);
      expect(await listAll({ by, bucket, keyTo: "a" })).toEqual(["0"]);
      expect(await listAll(keys("b0", "c"))).toEqual([]);
      const eventTime = anyInput().eventTime;
      expect(await listAll({ by, bucket, from: addMs(eventTime, durationMs(1)) })).toEqual([]);
      const invalid = { code: "TG_VALUE_INVALID" };
      await expect(listAll({ by, prefix: "a/" })).rejects.toMatchObject(invalid);
      await expect(listAll({ by, keyFrom: "a" })).rejects.toMatchObject(invalid);
      await expect(listAll({ ...keys("a", "b"), prefix: "a" })).rejects.toMatchObject(invalid);
      const event = { by: "event-time", bucket, prefix: "a/2" } as const;
      expect(await listAll(event)).toEqual(["4"]);
    });

    test("an object key of 1,024 bytes is listed", async () => {
      const long = "l".repeat(1_024);
      await directly("long", objectInput(long));
      await directly("short", objectInput("l"));
      expect(await listAll({ by: "object", bucket: "in" }, 1)).toEqual(["short", "long"]);
      expect(await listAll({ by: "object", bucket: "in", prefix: "ll" })).toEqual(["long"]);
      const own = { by: "object", bucket: "in", keyFrom: long, keyTo: long } as const;
      expect(await listAll(own)).toEqual(["long"]);
      const other = `${"l".repeat(1_023)}m`;
      expect(await listAll({ ...own, keyFrom: other, keyTo: other })).toEqual([]);
      expect(await listAll({ by: "object", bucket: "in", prefix: other })).toEqual([]);
    });

    test("a page does not depend on what is written after the previous one (L7)", async () => {
      const by = "event-time";
      for (const n of [1, 2, 3, 4]) await claim(`${n}`, anyInput({ eventTime: at(n * 10) }));
      const first = await ledger.listRecords(SCOPE, { by }, { after: null, limit: 2 });
      expect(first.records.map(nameOf)).toEqual(["1", "2"]);
      await directly("0", anyInput({ eventTime: at(0) }));
      await directly("35", anyInput({ eventTime: at(35) }));
      const { records } = await ledger.listRecords(SCOPE, { by }, { after: null, limit: 5 });
      const [, , second] = records;
      const { fence = fenceOf(0) } = second?.record ?? {};
      await commit("2", fence); // Its state changes, its position does not.
      await fail("3", null, anyInput({ eventTime: at(0) })).catch(() => undefined);
      const rest = await ledger.listRecords(SCOPE, { by }, { after: first.next, limit: 9 });
      expect(rest.records.map(nameOf)).toEqual(["3", "35", "4"]);
      expect(rest.next).toBeNull();
    });

    test("expired records are not listed, purged or not", async () => {
      await directly("old", objectInput("old"));
      clock.advance(days(40));
      await directly("new", objectInput("new"));
      clock.advance(days(6));
      const lists = () =>
        Promise.all([
          listAll({ by: "event-time" }),
          listAll({ by: "commit-time" }),
          listAll({ by: "object" }),
        ]);
      expect(await lists()).toEqual([["new"], ["new"], ["new"]]);
      await ledger.purge(100);
      expect(await lists()).toEqual([["new"], ["new"], ["new"]]);
    });

    test("a wrong cursor, order or page is rejected", async () => {
      const refused = { code: "TG_VALUE_INVALID" };
      const list = (query: RecordQuery, after: string | null, limit = 1) =>
        ledger.listRecords(SCOPE, query, { after, limit });
      await directly("a", anyInput());
      await directly("b", anyInput());
      const { next } = await list({ by: "event-time" }, null);
      expect(next).not.toBeNull();
      await expect(list({ by: "commit-time" }, next)).rejects.toMatchObject(refused);
      await expect(list({ by: "event-time" }, "xyz")).rejects.toMatchObject(refused);
      await expect(list({ by: "event-time" }, null, 0)).rejects.toMatchObject(refused);
      await expect(list({ by: "event-time" }, null, 1_001)).rejects.toMatchObject(refused);
      await expect(list({ by: "size" as "object" }, null)).rejects.toMatchObject(refused);
      await expect(ledger.listRuns(SCOPE, { after: next, limit: 1 })).rejects.toMatchObject(
        refused,
      );
    });

    test("lists of any records are complete and in order, in pages of any size", async () => {
      const anyName = fc.string({ unit: fc.constantFrom("a", "b", "/", "é", "🌊"), maxLength: 3 });
      const anyRecord = fc.record({
        eventTime: fc.integer({ min: -3, max: 3 }),
        name: fc.option(anyName, { nil: null }),
        bucket: fc.constantFrom("in", "in-2", "i"),
      });
      const records = fc.sample(anyRecord, { seed: 14, numRuns: 40 });
      const all = records.map(({ eventTime, name, bucket }, n) => {
        const input = name === null ? anyInput() : objectInput(`x${name}`, { bucket });
        return { name: `${n}`, input: { ...input, eventTime: epochMs(eventTime) } };
      });
      for (const { name, input } of all) await directly(name, input);
      const bytes = (...texts: string[]) => Buffer.from(texts.join("\0"));
      const byTime = all.toSorted(
        (a, b) =>
          a.input.eventTime - b.input.eventTime || Buffer.compare(bytes(a.name), bytes(b.name)),
      );
      const withObjects = all.filter(({ input }) => input.object !== null);
      const placeOf = ({ name, input: { object } }: (typeof all)[0]) =>
        bytes(object?.bucket ?? "", object?.key ?? "", name);
      const byObject = withObjects.toSorted((a, b) => Buffer.compare(placeOf(a), placeOf(b)));
      for (const limit of [1, 7, 39, 40]) {
        expect(await listAll({ by: "event-time" }, limit)).toEqual(byTime.map(({ name }) => name));
        expect(await listAll({ by: "object" }, limit)).toEqual(byObject.map(({ name }) => name));
      }
    });

    const run = (id: string, changes: Partial<RunRow> = {}): RunRow => ({
      id,
      kind: "live",
      startedAt: at(0),
      endedAt: null,
      seenAt: at(0),
      codeDigest: "c0de",
      configDigest: "c0f1",
      environment: '{"node":"24"}',
      parameters: "{}",
      counts: '{"committed":0}',
      ...changes,
    });

    test("a run moves forward only, and its end is never unset (U1)", async () => {
      const first = run("r1");
      await ledger.putRun(SCOPE, first);
      expect(await ledger.findRun(SCOPE, "r1")).toEqual(first);
      const beat = run("r1", { seenAt: at(30_000), counts: '{"committed":7}' });
      await ledger.putRun(SCOPE, beat);
      await ledger.putRun(SCOPE, beat); // Repeated after a lost response.
      await ledger.putRun(SCOPE, first); // Late.
      expect(await ledger.findRun(SCOPE, "r1")).toEqual(beat);
      const end = { ...beat, seenAt: at(60_000), endedAt: at(60_000) };
      await ledger.putRun(SCOPE, end);
      await ledger.putRun(SCOPE, { ...beat, seenAt: at(70_000) });
      expect(await ledger.findRun(SCOPE, "r1")).toEqual({ ...end, seenAt: at(70_000) });
      expect(await ledger.findRun(SCOPE, "r2")).toBeUndefined();
      expect(await ledger.findRun(OTHER_SCOPE, "r1")).toBeUndefined();
      await expect(ledger.putRun(SCOPE, run(""))).rejects.toMatchObject({
        code: "TG_VALUE_INVALID",
      });
    });

    test("runs are listed by start, newest first, in pages", async () => {
      const starts: [string, number][] = [
        ["b", 5],
        ["a", 5],
        ["c", 1],
        ["e", 9],
      ];
      for (const [id, ms] of starts) await ledger.putRun(SCOPE, run(id, { startedAt: at(ms) }));
      await ledger.putRun(OTHER_SCOPE, run("x"));
      const ids: string[] = [];
      let after: string | null = null;
      do {
        const page = await ledger.listRuns(SCOPE, { after, limit: 2 });
        ids.push(...page.runs.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      expect(ids).toEqual(["e", "b", "a", "c"]);
    });

    test("a run is kept as long as its records, and purged after them (U2)", async () => {
      await ledger.putRun(SCOPE, run("run-1"));
      clock.advance(hours(1));
      await directly("a", anyInput({ runId: "run-1" }));
      clock.advance(days(44));
      expect(await inputOf("a")).toMatchObject({ runId: "run-1" });
      expect(await ledger.findRun(SCOPE, "run-1")).toBeDefined();
      clock.advance(days(3));
      expect(await ledger.findRun(SCOPE, "run-1")).toBeUndefined();
      expect((await ledger.listRuns(SCOPE, { after: null, limit: 5 })).runs).toEqual([]);
      expect(await ledger.purge(100)).toBeGreaterThan(0);
      await ledger.putRun(SCOPE, run("run-1", { startedAt: at(1) })); // It starts again.
      expect(await ledger.findRun(SCOPE, "run-1")).toEqual(run("run-1", { startedAt: at(1) }));
    });

    test("many processes put one run at once, and the newest heartbeat stays", async () => {
      const second = await again();
      const beats = Array.from({ length: 16 }, (_, n) => n);
      await Promise.all(
        beats.map((n) => {
          const counts = JSON.stringify({ committed: n });
          const endedAt = n === 9 ? at(9) : null;
          const row = run("r1", { seenAt: at(n), counts, endedAt });
          return (n % 2 === 0 ? ledger : second).putRun(SCOPE, row);
        }),
      );
      expect(await second.findRun(SCOPE, "r1")).toEqual(
        run("r1", { seenAt: at(15), endedAt: at(9), counts: '{"committed":15}' }),
      );
    });

    test("a list beside writers has every record that was there all the time, once", async () => {
      const second = await again();
      for (let n = 0; n < 12; n += 1) {
        await claim(`stay-${n}`, anyInput({ eventTime: at(n * 10) }));
      }
      const { records } = await ledger.listRecords(
        SCOPE,
        { by: "event-time" },
        { after: null, limit: 12 },
      );
      const writing = Promise.all(
        records.map(async ({ key, record }, n) => {
          const input = anyInput({ eventTime: at(n * 10 + 5) });
          const times = { receivedAt: T0, startedAt: T0, owner: "w", digest: "d" };
          await second.commitDirect(SCOPE, [{ key: keyOf(`new-${n}`), input, ...times }]);
          await second.commit(SCOPE, [{ key, fence: record.fence, digest: "d" }]);
        }),
      );
      const listed: string[] = [];
      for (let pass = 0; pass < 3; pass += 1) {
        const names = await listAll({ by: "event-time" }, 2);
        expect(new Set(names).size).toBe(names.length);
        listed.push(...names.filter((name) => name.startsWith("stay-")));
      }
      await writing;
      const stays = Array.from({ length: 12 }, (_, n) => `stay-${n}`);
      expect(listed).toEqual([...stays, ...stays, ...stays]);
      expect(await listAll({ by: "commit-time" })).toHaveLength(24);
      clock.advance(minutes(1));
    });
  });
}

function lastAttempt({ messageId, sentAt, traceId, runId }: RecordInput) {
  return { messageId, sentAt, traceId, runId };
}
