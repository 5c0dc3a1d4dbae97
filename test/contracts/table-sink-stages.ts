// Staging: the rows of a large record are stored in chunks and become visible with its commit.

import { describe, expect, test } from "vitest";
import { addMs, durationMs, hours } from "../../src/core/units.ts";
import { fenceOf } from "../../src/ledger/record-state.ts";
import type { Effect, SinkStore, StagedRowsRequest } from "../../src/ports/sink.ts";
import { createIdempotentTableSink, createTableSink } from "../../src/sinks/table/index.ts";
import { createManualClock } from "../support/manual-clock.ts";
import {
  claim,
  type DeliveredEvent,
  originOf,
  SCOPE,
  specOf,
  T0,
  type TestDatabase,
} from "../support/stores/table-sink-world.ts";
import type { TableSinkSubject } from "./table-sink.ts";

const TABLES = {
  t: { columns: { id: "text", v: "integer" }, key: ["id"] },
  u: { columns: { id: "integer" }, key: ["id"] },
} as const;
const ROWS = "SELECT id, v FROM t ORDER BY id";
const upsert = (id: string, v: number): Effect => ({ kind: "upsert", table: "t", row: { id, v } });
const remove = (id: string): Effect => ({ kind: "delete", table: "t", key: { id } });
const object = (key: string, at: number, sequencer = `${at}`): DeliveredEvent => {
  return { key, at, object: "big.csv", sequencer };
};

/** A ledger, the sink in its database, and attempts that stage. */
async function staging(database: TestDatabase) {
  const clock = createManualClock(T0);
  const ledger = await database.openLedger(clock);
  const store = ledger.sinkStore;
  if (store === null) throw new Error("the ledger has no sink store");
  const sink = createTableSink(specOf(TABLES), database.address);
  await sink.prepare();
  const rows = async () => {
    const all = await database.query(ROWS);
    return all.map(({ id, v }) => [id, Number(v)]);
  };
  // Stages of SQLite belong to the ledger's connection.
  const read = (statement: string) => store.read({ statement, params: [] });
  const stages = async () => (await read("SELECT id FROM tidegate_sink_stages")).length;
  const stageTables = async () => {
    const names =
      database.address.dialect === "sqlite"
        ? "SELECT name FROM sqlite_temp_schema"
        : "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)";
    const all = await read(names);
    return all.filter(({ name }) => String(name).startsWith("_tg_stage_")).length;
  };
  const attempt = (event: DeliveredEvent, ...chunks: (readonly Effect[])[]) =>
    attemptOn(store, event, ...chunks);
  async function attemptOn(
    stageStore: SinkStore,
    event: DeliveredEvent,
    ...chunks: (readonly Effect[])[]
  ) {
    clock.advance(durationMs(1));
    const origin = originOf(event);
    const { key } = origin;
    const ref = origin.object === null ? {} : { object: origin.object };
    const fence = (await claim(ledger, clock, { key, ...ref })) ?? fenceOf(0);
    const expiresAt = addMs(clock.now(), hours(1));
    const request: StagedRowsRequest = {
      key,
      fence,
      owner: "w",
      startedAt: clock.now(),
      expiresAt,
    };
    const stage = sink.stage?.(request, stageStore);
    if (stage === undefined) throw new Error("the sink does not stage");
    for (const chunk of chunks) await stage.add(chunk);
    await stage.seal();
    const commit = async () => {
      const writes = stage.merge(origin);
      const [result] = await ledger.commit(SCOPE, [{ key, fence, digest: "d", ...ref, writes }]);
      return result?.kind;
    };
    return { stage, fence, commit };
  }
  return { clock, ledger, sink, store, rows, stages, stageTables, attempt, attemptOn };
}

/** The same store, whose nth call runs a second time, as after a lost answer. */
function repeating(store: SinkStore, nth: number): SinkStore {
  let calls = 0;
  return {
    ...store,
    async run(writes) {
      calls += 1;
      const isRepeated = calls === nth;
      await store.run(writes);
      if (isRepeated) await store.run(writes);
    },
  };
}

export function describeStages(subject: TableSinkSubject): void {
  const world = async () => staging(await subject.freshDatabase());

  describe(`staged rows on ${subject.name}`, () => {
    test("are invisible until the commit, and all visible after it", async () => {
      const { attempt, rows, stages, stageTables, ledger } = await world();
      const { stage, commit } = await attempt(
        object("k1", 1),
        [upsert("c", 1), upsert("a", 2), { kind: "upsert", table: "u", row: { id: 7 } }],
        [upsert("b", 3)],
      );
      expect(await rows()).toEqual([]);
      expect(await commit()).toBe("committed");
      expect(await rows()).toEqual([
        ["a", 2],
        ["b", 3],
        ["c", 1],
      ]);
      expect(stage.counts).toEqual(
        new Map([
          ["upsert t", 3],
          ["upsert u", 1],
        ]),
      );
      await stage.discard();
      expect([await stages(), await stageTables()]).toEqual([0, 0]);
      await ledger.close();
    });

    test("count the last effect on a row, across chunks and with deletes", async () => {
      const { attempt, rows, ledger } = await world();
      const { commit } = await attempt(
        object("k1", 1),
        [upsert("b", 1), upsert("a", 1), upsert("c", 1)],
        [upsert("a", 2), remove("b"), remove("d")],
        [upsert("d", 3), remove("c"), upsert("c", 4)],
      );
      expect(await commit()).toBe("committed");
      expect(await rows()).toEqual([
        ["a", 2],
        ["c", 4],
        ["d", 3],
      ]);
      await ledger.close();
    });

    test("replace the object's former rows, and yield to a later writer", async () => {
      const { attempt, rows, ledger } = await world();
      const other: DeliveredEvent = { key: "m", at: 5 };
      await (await attempt(object("k1", 1), [upsert("a", 1), upsert("b", 1)])).commit();
      await (await attempt(other, [upsert("b", 9)])).commit();
      await (await attempt(object("k2", 2), [upsert("b", 2), upsert("c", 2)])).commit();
      expect(await rows()).toEqual([
        ["b", 9],
        ["c", 2],
      ]);
      await (await attempt({ key: "m2", at: 6 }, [remove("b")])).commit();
      await (await attempt(object("k3", 7), [upsert("b", 7)])).commit();
      expect(await rows()).toEqual([["b", 7]]);
      await ledger.close();
    });

    test("of an attempt that lost its claim are never merged", async () => {
      const { attempt, clock, rows, ledger, stages } = await world();
      const zombie = await attempt(object("k1", 1), [upsert("zombie", 1)]);
      clock.advance(hours(1));
      const next = await attempt(object("k1", 1), [upsert("next", 2)]);
      expect(await stages()).toBe(1);
      expect(await zombie.commit()).toBe("fenced");
      expect(await next.commit()).toBe("committed");
      expect(await zombie.commit()).not.toBe("committed");
      expect(await rows()).toEqual([["next", 2]]);
      await ledger.close();
    });

    test("would show a zombie's rows if a merge ran outside of its commit (planted bugs)", async () => {
      const { attempt, clock, rows, ledger, store } = await world();
      const zombie = await attempt(object("k1", 1), [upsert("zombie", 1)]);
      // The merge ignores the fence: it is not part of the refused commit.
      clock.advance(hours(1));
      const next = await attempt({ ...object("k1", 1), key: "k9" }, [upsert("next", 2)]);
      await store.run(zombie.stage.merge(originOf(object("k1", 1))));
      expect(await rows()).toEqual([["zombie", 1]]);
      // The stage of an old attempt is merged by the new one: the commit takes other writes.
      const expire = "UPDATE tidegate_sink_stages SET expires_at = 0";
      await store.run([{ statement: expire, params: [] }]);
      const other = await attempt({ ...object("k3", 3), key: "k3" }, [upsert("other", 3)]);
      const writes = next.stage.merge(originOf({ ...object("k3", 3), key: "k3" }));
      const key = originOf({ ...object("k3", 3), key: "k3" }).key;
      const commit = { key, fence: other.fence, digest: "d", writes };
      await ledger.commit(SCOPE, [commit]);
      expect(await rows()).toEqual([["next", 2]]);
      await ledger.close();
    });

    test("that were removed or lost fail the commit, and nothing of it is written", async () => {
      const { attempt, rows, ledger, sink, store, clock } = await world();
      const { commit, stage } = await attempt(object("k1", 1), [upsert("a", 1)]);
      expect(await sink.sweepStages?.(store, clock.now())).toBe(0);
      clock.advance(hours(2));
      expect(await sink.sweepStages?.(store, clock.now())).toBe(1);
      await stage.add([upsert("b", 1)]);
      await expect(stage.add([upsert("c", 1)])).rejects.toThrow();
      await expect(stage.seal()).rejects.toThrow();
      await expect(commit()).rejects.toThrow();
      expect(await rows()).toEqual([]);
      await ledger.close();
    });

    test.each([1, 2, 3])(
      "of chunk %i that runs twice fail the attempt, and the next one has each row once (S2)",
      async (nth) => {
        const { attempt, attemptOn, clock, rows, stages, store, ledger } = await world();
        const chunks = [
          [upsert("a", 1), upsert("b", 1)],
          [upsert("c", 1)],
          [remove("a"), upsert("d", 1)],
        ];
        const twice = attemptOn(repeating(store, nth), object("k1", 1), ...chunks);
        await expect(twice).rejects.toThrow();
        clock.advance(hours(1));
        const { commit, stage } = await attempt(object("k1", 1), ...chunks);
        expect(await commit()).toBe("committed");
        expect(await rows()).toEqual([
          ["b", 1],
          ["c", 1],
          ["d", 1],
        ]);
        await stage.discard();
        expect(await stages()).toBe(0);
        await ledger.close();
      },
    );

    test("of a dead attempt are removed by the next attempt, and by a sweep", async () => {
      const { attempt, clock, stages, stageTables, sink, store, ledger } = await world();
      await attempt(object("k1", 1), [upsert("a", 1)]);
      await attempt({ ...object("k2", 1), object: "other.csv" }, [upsert("x", 1)]);
      clock.advance(hours(2));
      const { commit, stage } = await attempt(object("k1", 1), [upsert("a", 1)]);
      expect([await stages(), await stageTables()]).toEqual([2, 2]);
      expect(await commit()).toBe("committed");
      await stage.discard();
      expect(await sink.sweepStages?.(store, clock.now())).toBe(1);
      expect([await stages(), await stageTables()]).toEqual([0, 0]);
      await ledger.close();
    });

    test("that break a rule of their columns are rejected with the position in the record", async () => {
      const { attempt, ledger } = await world();
      const bad: Effect = { kind: "upsert", table: "t", row: { id: "x", v: 1.5 } };
      const staged = attempt(object("k1", 1), [upsert("a", 1), upsert("b", 1)], [bad]);
      await expect(staged).rejects.toThrow(/row 3 of table t: column v is 1.5/);
      await ledger.close();
    });

    test("work in a separate database, under the fence of the attempt", async () => {
      const database = await subject.freshDatabase();
      const { address } = database;
      const at = address.dialect === "sqlite" ? address.path : address.url;
      const sink = createIdempotentTableSink(specOf(TABLES, { database: at }));
      await sink.prepare();
      const apply = async (fence: number, effects: Effect[]) => {
        const origin = { ...originOf(object("k1", 1)), fence: fenceOf(fence) };
        const expiresAt = addMs(T0, hours(1));
        const about = { key: origin.key, owner: "w", startedAt: T0, expiresAt };
        const stage = sink.stage?.({ ...about, fence: fenceOf(fence) });
        await stage?.add(effects);
        await stage?.seal();
        await stage?.apply(origin, new AbortController().signal);
        await stage?.discard();
      };
      await apply(6, [upsert("a", 6)]);
      await apply(5, [upsert("a", 5), upsert("b", 5)]);
      expect(await database.query(ROWS)).toHaveLength(1);
      await apply(7, [upsert("c", 7)]);
      const rows = await database.query(ROWS);
      expect(rows.map(({ id }) => id)).toEqual(["c"]);
      expect(await sink.sweepStages?.(addMs(T0, hours(3)))).toBe(0);
      await sink.close();
    });
  });
}
