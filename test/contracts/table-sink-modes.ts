// Behaviour of the table sink in single modes: with the ledger's fence and verdict, or alone with
// repeated, late and concurrent callers.

import { describe, expect, test } from "vitest";
import { SINK_FENCE } from "../../src/core/sink-write.ts";
import { durationMs, minutes } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Effect, IdempotentSink } from "../../src/ports/sink.ts";
import { createIdempotentTableSink, createTableSink } from "../../src/sinks/table/index.ts";
import { createManualClock } from "../support/manual-clock.ts";
import {
  claim,
  commitDirect,
  type DeliveredEvent,
  originOf,
  SCOPE,
  specOf,
  T0,
  type TestDatabase,
} from "../support/stores/table-sink-world.ts";
import type { TableSinkSubject } from "./table-sink.ts";

const TABLES = { t: { columns: { id: "text", v: "real" }, key: ["id"] } } as const;
const ROWS = "SELECT id, v FROM t ORDER BY id";
const upsert = (id: string, v: number): Effect => ({ kind: "upsert", table: "t", row: { id, v } });

/** A ledger and the sink in its database. */
async function transactional(database: TestDatabase) {
  const clock = createManualClock(T0);
  const ledger = await database.openLedger(clock);
  const sink = createTableSink(specOf(TABLES), database.address);
  await sink.prepare();
  const commitOf = (event: DeliveredEvent) => {
    const { key, object } = originOf(event);
    const writes = sink.plan(event.effects ?? [], originOf(event));
    return { key, digest: "d", ...(object !== null && { object }), writes };
  };
  return { clock, ledger, commitOf, query: database.query };
}

export function describeWithLedger(subject: TableSinkSubject): void {
  describe(`the table sink in the ledger's database, on ${subject.name}`, () => {
    test("a statement runs in the commit of its record, after its rows, and once", async () => {
      const { clock, ledger, commitOf, query } = await transactional(await subject.freshDatabase());
      await query("CREATE TABLE audit (id text, v real, ok boolean)");
      const [p1, p2] = subject.name === "SQLite" ? ["?", "?"] : ["$1", "$2"];
      const statement = `INSERT INTO audit SELECT id, v, ${p1} FROM t WHERE id = ${p2}`;
      const audit = { kind: "sql", statement, params: [true, "a"] } as const;
      const commit = commitOf({ key: "a", at: 1, effects: [audit, upsert("a", 1)] });
      const fence = (await claim(ledger, clock, commit)) ?? fenceOf(0);
      await ledger.commit(SCOPE, [{ ...commit, fence: fenceOf(fence - 1) }]); // Fenced.
      expect(await query("SELECT * FROM audit")).toEqual([]);
      await ledger.commit(SCOPE, [{ ...commit, fence }]);
      await ledger.commit(SCOPE, [{ ...commit, fence }]);
      await commitDirect(ledger, clock, commit);
      const rows = await query("SELECT id, v, ok FROM audit");
      expect(rows.map(({ id, v, ok }) => [id, v, Boolean(ok)])).toEqual([["a", 1, true]]);
      await ledger.close();
    });

    test("a statement that fails leaves nothing of its record, and others commit", async () => {
      const { clock, ledger, commitOf, query } = await transactional(await subject.freshDatabase());
      await query("CREATE TABLE audit (id text PRIMARY KEY)");
      const audit = { kind: "sql", statement: "INSERT INTO audit VALUES ('x')" } as const;
      const bad = { ...audit, params: [] };
      await commitDirect(ledger, clock, commitOf({ key: "a", at: 1, effects: [bad] }));
      const second = commitOf({ key: "b", at: 1, effects: [upsert("b", 1), bad] });
      const refusal = { code: "TG_SINK_REFUSED", retry: "never" };
      await expect(commitDirect(ledger, clock, second)).rejects.toMatchObject(refusal);
      await commitDirect(ledger, clock, commitOf({ key: "c", at: 1, effects: [upsert("c", 1)] }));
      expect((await query(ROWS)).map(({ id }) => id)).toEqual(["c"]);
      expect(await ledger.show(SCOPE, asRecordKey("b"))).toBeUndefined();
      await ledger.close();
    });

    test("rows contain the fence of their record, drawn by a claim or by the commit itself", async () => {
      const { clock, ledger, commitOf, query } = await transactional(await subject.freshDatabase());
      const claimed = commitOf({ key: "a", at: 1, effects: [upsert("a", 1)] });
      expect(claimed.writes[0]?.params).toContain(SINK_FENCE);
      const fence = await claim(ledger, clock, claimed);
      clock.advance(durationMs(5));
      await ledger.commit(SCOPE, [{ ...claimed, fence: fence ?? fenceOf(0) }]);
      await commitDirect(ledger, clock, commitOf({ key: "b", at: 1, effects: [upsert("b", 1)] }));
      const rows = await query("SELECT id, _tg_fence FROM _tg_t ORDER BY id");
      const actual = rows.map(({ id, _tg_fence }) => [id, Number(_tg_fence)]);
      const fences = [];
      for (const key of ["a", "b"]) {
        fences.push([key, (await ledger.show(SCOPE, asRecordKey(key)))?.record.fence]);
      }
      expect(actual).toEqual(fences);
      await ledger.close();
    });

    test("a commit that is fenced or superseded writes no row", async () => {
      const { clock, ledger, commitOf, query } = await transactional(await subject.freshDatabase());
      const old = commitOf({
        key: "old",
        at: 1,
        object: "o",
        sequencer: "1",
        effects: [upsert("old", 1)],
      });
      const zombie = commitOf({ key: "m", at: 1, effects: [upsert("zombie", 1)] });
      const oldFence = (await claim(ledger, clock, old)) ?? fenceOf(0);
      const zombieFence = (await claim(ledger, clock, zombie)) ?? fenceOf(0);
      clock.advance(minutes(1));
      expect(await claim(ledger, clock, zombie)).not.toBeNull();
      const newer = { at: 2, object: "o", sequencer: "2", effects: [upsert("new", 1)] };
      await commitDirect(ledger, clock, commitOf({ key: "new", ...newer }));
      const results = await ledger.commit(SCOPE, [
        { ...old, fence: oldFence },
        { ...zombie, fence: zombieFence },
      ]);
      expect(results).toEqual([{ kind: "superseded" }, { kind: "fenced" }]);
      expect(await query(ROWS)).toEqual([{ id: "new", v: 1 }]);
      await ledger.close();
    });
  });
}

function idempotent({ address }: TestDatabase): IdempotentSink {
  const database = address.dialect === "sqlite" ? address.path : address.url;
  return createIdempotentTableSink(specOf(TABLES, { database }));
}

const live = () => new AbortController().signal;

async function apply(sink: IdempotentSink, fence: number, event: DeliveredEvent): Promise<void> {
  await sink.apply(event.effects ?? [], { ...originOf(event), fence: fenceOf(fence) }, live());
}

export function describeAlone(subject: TableSinkSubject): void {
  describe(`the table sink in a database of its own, on ${subject.name}`, () => {
    test("a zombie does not change an object, and its successor undoes its earlier writes", async () => {
      const database = await subject.freshDatabase();
      const sink = idempotent(database);
      await sink.prepare();
      const attempt = (...effects: Effect[]) => {
        return { key: "k", at: 1, object: "o", sequencer: "1", effects };
      };
      await apply(sink, 5, attempt(upsert("a", 5), upsert("b", 5)));
      await apply(sink, 6, attempt(upsert("a", 6), upsert("c", 6)));
      await apply(sink, 5, attempt(upsert("a", 5), upsert("b", 5)));
      await apply(sink, 6, attempt(upsert("a", 6), upsert("c", 6)));
      expect(await database.query(ROWS)).toEqual([
        { id: "a", v: 6 },
        { id: "c", v: 6 },
      ]);
      await sink.close();
    });

    test("a zombie does not overwrite what a message's later attempt wrote", async () => {
      const database = await subject.freshDatabase();
      const sink = idempotent(database);
      await sink.prepare();
      const attempt = (v: number) => ({ key: "k", at: 1, effects: [upsert("a", v)] });
      await apply(sink, 6, attempt(6));
      await apply(sink, 5, attempt(5));
      expect(await database.query(ROWS)).toEqual([{ id: "a", v: 6 }]);
      await apply(sink, 7, attempt(7));
      expect(await database.query(ROWS)).toEqual([{ id: "a", v: 7 }]);
      await sink.close();
    });

    test("several processes can apply records that share rows concurrently", async () => {
      const database = await subject.freshDatabase();
      const sinks = [idempotent(database), idempotent(database)];
      for (const sink of sinks) await sink.prepare();
      const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
      const calls = Array.from({ length: 12 }, (_, index) => {
        const mixed = index % 2 === 0 ? ids : ids.toReversed();
        const event = {
          key: `k${index}`,
          at: index,
          effects: mixed.map((id) => upsert(id, index)),
        };
        const object = index % 3 === 0 ? { object: "o", sequencer: `${index + 1}` } : {};
        return apply(sinks[index % 2] ?? idempotent(database), index, { ...event, ...object });
      });
      await Promise.all(calls);
      expect(await database.query(ROWS)).toEqual(ids.toSorted().map((id) => ({ id, v: 11 })));
      for (const sink of sinks) await sink.close();
    });

    test("an aborted call writes nothing and rejects", async () => {
      const database = await subject.freshDatabase();
      const sink = idempotent(database);
      await sink.prepare();
      const reason = new Error("the lease is lost");
      const origin = { ...originOf({ key: "k", at: 1 }), fence: fenceOf(1) };
      const applying = sink.apply([upsert("a", 1)], origin, AbortSignal.abort(reason));
      await expect(applying).rejects.toBe(reason);
      expect(await database.query(ROWS)).toEqual([]);
      await sink.close();
      await expect(
        apply(sink, 1, { key: "k", at: 1, effects: [upsert("a", 1)] }),
      ).rejects.toMatchObject({ code: "TG_CLOSED" });
    });
  });
}
