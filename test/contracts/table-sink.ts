// The contract of the table sink, for both databases and every mode.

import { afterEach, describe, expect, test } from "vitest";
import type { ColumnValue, Effect } from "../../src/ports/sink.ts";
import type { SinkMode, SinkWorld, TestDatabase } from "../support/stores/table-sink-world.ts";
import {
  auditUpdates,
  OBSERVATIONS,
  openSink,
  openWorld,
  SINK_MODES,
  specOf,
} from "../support/stores/table-sink-world.ts";

const ROWS = "SELECT station, at, celsius FROM observations ORDER BY station, at";

const upsert = (station: string, at: number, celsius: number | null): Effect => ({
  kind: "upsert",
  table: "observations",
  row: { station, at, celsius },
});
const remove = (station: string, at: number): Effect => ({
  kind: "delete",
  table: "observations",
  key: { station, at },
});
/** The origin of one state of an object. */
const state = (object: string, sequencer: string, effects: readonly Effect[]) => ({
  object,
  sequencer,
  effects,
});
const row = (station: string, at: number, celsius: number | null) => ({ station, at, celsius });

export interface TableSinkSubject {
  readonly name: string;
  freshDatabase(): Promise<TestDatabase>;
}

export function describeTableSink(subject: TableSinkSubject): void {
  describe.each(SINK_MODES)(`the table sink on ${subject.name}, %s`, (mode) => {
    const open: SinkWorld[] = [];
    afterEach(async () => {
      for (const world of open.splice(0)) await world.close();
    });
    const world = async (more: Parameters<typeof specOf>[1] = {}) => {
      const spec = specOf(OBSERVATIONS, more);
      const opened = await openWorld(mode, spec, await subject.freshDatabase());
      open.push(opened);
      return opened;
    };
    describeRows(world);
    describeOrder(world);
    describeLayout(subject, mode);
  });
}

type OpenWorld = (more?: Parameters<typeof specOf>[1]) => Promise<SinkWorld>;

function describeRows(world: OpenWorld): void {
  test("values of every type are read back unchanged", async () => {
    const { deliver, query } = await world();
    const rows: Readonly<Record<string, ColumnValue>>[] = [
      { station: `'"; DROP TABLE x; --`, at: 1, celsius: 0.1, valid: true },
      {
        station: "Zürich 🌊\n\t\\u0000",
        at: Number.MAX_SAFE_INTEGER,
        celsius: 5e-324,
        valid: false,
      },
      { station: "", at: Number.MIN_SAFE_INTEGER, celsius: -1.7976931348623157e308, valid: null },
      { station: "null", at: 0, celsius: 12, valid: null },
    ];
    const effects = rows.map(
      (one): Effect => ({ kind: "upsert", table: "observations", row: one }),
    );
    await deliver({ key: "a", at: 1, ...state("it's.csv", "1", effects) });
    const stored = await query("SELECT * FROM observations");
    const plain = stored.map((one) => ({
      ...one,
      at: Number(one.at),
      valid: one.valid === null ? null : Boolean(one.valid),
    }));
    expect(plain).toHaveLength(rows.length);
    expect(plain).toEqual(expect.arrayContaining(rows));
  });

  test("a corrected row replaces the wrong one completely", async () => {
    const { deliver, query } = await world();
    const effects = [upsert("a", 1, 20), upsert("a", 2, 21)];
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
    const mended = [upsert("a", 1, null), upsert("a", 2, 21)];
    await deliver({ key: "k2", at: 2, ...state("a.csv", "2", mended) });
    expect(await query(ROWS)).toEqual([row("a", 1, null), row("a", 2, 21)]);
  });

  test("an existing row with the same content is not written", async () => {
    const { deliver, query, database } = await world();
    await auditUpdates(database, "observations", "at");
    const effects = [upsert("a", 1, 20), upsert("a", 2, 21)];
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
    const mended = [upsert("a", 1, 20), upsert("a", 2, 22)];
    await deliver({ key: "k2", at: 2, ...state("a.csv", "2", mended) });
    expect(await query("SELECT at FROM audit")).toEqual([{ at: 2 }]);
  });

  test("of several effects of a record on one row the last counts", async () => {
    const { deliver, query } = await world();
    const effects = [upsert("a", 1, 1), remove("a", 1), upsert("a", 1, 2), upsert("b", 1, 3)];
    await deliver({ key: "k1", at: 1, effects: [...effects, remove("b", 1)] });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("a row with only its key is not mistaken for a deletion", async () => {
    const { deliver, query } = await world();
    const bare = { object: "a.csv", effects: [upsert("a", 1, null)] };
    const gone = { object: "a.csv", effects: [remove("a", 1)] };
    await deliver({ key: "k1", at: 1, sequencer: "1", ...bare });
    expect(await query(ROWS)).toEqual([row("a", 1, null)]);
    await deliver({ key: "k2", at: 2, sequencer: "2", ...gone });
    expect(await query(ROWS)).toEqual([]);
    await deliver({ key: "k3", at: 3, sequencer: "3", ...bare });
    expect(await query(ROWS)).toEqual([row("a", 1, null)]);
  });

  test("rows that a newer version no longer has are deleted, or kept by option", async () => {
    for (const onReplaced of ["delete", "keep"] as const) {
      const { deliver, query } = await world({ onReplaced });
      const effects = [upsert("a", 1, 1), upsert("a", 2, 2)];
      await deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
      const fewer = [upsert("a", 2, 3)];
      await deliver({ key: "k2", at: 2, ...state("a.csv", "2", fewer) });
      const remaining = onReplaced === "keep" ? [row("a", 1, 1)] : [];
      expect(await query(ROWS)).toEqual([...remaining, row("a", 2, 3)]);
    }
  });

  test("of a deleted object only the rows that its removal wrote remain, whatever onReplaced says", async () => {
    for (const onReplaced of ["delete", "keep"] as const) {
      const { deliver, query } = await world({ onReplaced });
      const effects = [upsert("a", 1, 1)];
      await deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
      await deliver({ key: "k2", at: 1, ...state("b.csv", "1", [upsert("b", 1, 2)]) });
      const removal = { object: "a.csv", sequencer: "2", removed: true };
      await deliver({ key: "k3", at: 2, ...removal, effects: [upsert("a", 2, 3)] });
      expect(await query(ROWS)).toEqual([row("a", 2, 3), row("b", 1, 2)]);
    }
  });

  test("rows that are added to a version leave its other rows, and go with it", async () => {
    const { deliver, query } = await world();
    const version = state("a.csv", "1", [upsert("a", 1, 1)]);
    await deliver({ key: "k1", at: 1, ...version });
    await deliver({ key: "q1", at: 1, addsTo: "k1", ...version, effects: [upsert("a", 2, 2)] });
    await deliver({ key: "q2", at: 1, addsTo: "k1", ...version, effects: [] });
    expect(await query(ROWS)).toEqual([row("a", 1, 1), row("a", 2, 2)]);
    await deliver({ key: "k2", at: 2, ...state("a.csv", "2", [upsert("a", 3, 3)]) });
    expect(await query(ROWS)).toEqual([row("a", 3, 3)]);
  });

  test("rows that are added to a version change nothing after a newer one", async () => {
    const { deliver, query } = await world();
    const version = state("a.csv", "1", [upsert("a", 1, 1)]);
    await deliver({ key: "k1", at: 1, ...version });
    await deliver({ key: "k2", at: 2, ...state("a.csv", "2", [upsert("a", 1, 2)]) });
    const late = [upsert("a", 1, 9), upsert("a", 2, 9)];
    await deliver({ key: "q1", at: 1, addsTo: "k1", ...version, effects: late });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("a row that is added to a version ranks by the version, not by when it was added", async () => {
    const { deliver, query } = await world();
    const version = state("a.csv", "1", []);
    await deliver({ key: "k1", at: 1, ...version });
    await deliver({ key: "k2", at: 5, ...state("b.csv", "1", [upsert("b", 1, 5)]) });
    await deliver({ key: "q1", at: 1, addsTo: "k1", ...version, effects: [upsert("b", 1, 1)] });
    expect(await query(ROWS)).toEqual([row("b", 1, 5)]);
    await deliver({ key: "k3", at: 6, object: "b.csv", sequencer: "2", removed: true });
    expect(await query(ROWS)).toEqual([row("b", 1, 1)]);
  });

  test("an object of many rows is written and replaced by single statements", async () => {
    const { deliver, query } = await world();
    const many = Array.from({ length: 20_000 }, (_, at) => upsert("a", at, at / 3));
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", many) });
    const half = many.filter((_, at) => at % 2 === 0);
    await deliver({ key: "k2", at: 2, ...state("a.csv", "2", half) });
    const [sum] = await query("SELECT count(*) AS n, max(at) AS last FROM observations");
    expect(Number(sum?.n)).toBe(10_000);
    expect(Number(sum?.last)).toBe(19_998);
  });

  test("a row that the database rejects is a permanent failure, and nothing of its record is written", async () => {
    const { deliver, query } = await world();
    await query("CREATE UNIQUE INDEX one_each ON observations (celsius)");
    const effects = [upsert("a", 1, 1), upsert("b", 1, 1)];
    const delivering = deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
    await expect(delivering).rejects.toMatchObject({ code: "TG_SINK_REFUSED", retry: "never" });
    expect(await query(ROWS)).toEqual([]);
    expect(await query("SELECT * FROM tidegate_sink_writers")).toEqual([]);
  });
}

function describeOrder(world: OpenWorld): void {
  test("an object's older event changes nothing after a newer one, not even rows that only it has", async () => {
    const { deliver, query } = await world();
    const newer = [upsert("a", 1, 2)];
    await deliver({ key: "k2", at: 1, ...state("a.csv", "0A1", newer) });
    const older = [upsert("a", 1, 1), upsert("a", 2, 1)];
    await deliver({ key: "k1", at: 5, ...state("a.csv", "0a", older) });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("a deleted object stays deleted when an older event arrives late", async () => {
    const { deliver, query } = await world();
    await deliver({ key: "k2", at: 2, object: "a.csv", sequencer: "2", removed: true });
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", [upsert("a", 1, 1)]) });
    expect(await query(ROWS)).toEqual([]);
    await deliver({ key: "k3", at: 3, ...state("a.csv", "3", [upsert("a", 1, 3)]) });
    expect(await query(ROWS)).toEqual([row("a", 1, 3)]);
  });

  test("without sequencers an object's events are ordered by their time", async () => {
    const { deliver, query } = await world();
    await deliver({ key: "k2", at: 2, object: "a.csv", effects: [upsert("a", 1, 2)] });
    await deliver({ key: "k1", at: 1, object: "a.csv", effects: [upsert("a", 2, 1)] });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("an event without a sequencer, as from a listing, does not let older ones in again", async () => {
    const { deliver, query } = await world();
    const say = (celsius: number) => ({ object: "a.csv", effects: [upsert("a", 1, celsius)] });
    await deliver({ key: "k5", at: 5, sequencer: "5", ...say(5) });
    await deliver({ key: "listed", at: 7, ...say(7) });
    expect(await query(ROWS)).toEqual([row("a", 1, 7)]);
    await deliver({ key: "k4", at: 8, sequencer: "4", ...say(4) });
    expect(await query(ROWS)).toEqual([row("a", 1, 7)]);
    await deliver({ key: "k6", at: 6, sequencer: "6", ...say(6) });
    expect(await query(ROWS)).toEqual([row("a", 1, 6)]);
  });

  test("of two objects with the same row the later by event time wins, whichever comes first", async () => {
    const early = { key: "z", at: 1, ...state("a.csv", "9", [upsert("a", 1, 1)]) };
    const late = { key: "a", at: 2, ...state("b.csv", "1", [upsert("a", 1, 2)]) };
    for (const events of [
      [early, late],
      [late, early],
    ]) {
      const { deliver, query } = await world();
      for (const event of events) await deliver(event);
      expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
    }
  });

  test("an equal row of a newer version outranks what another object wrote in between", async () => {
    const { deliver, query } = await world();
    const effects = [upsert("a", 1, 1)];
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", effects) });
    await deliver({ key: "k3", at: 3, ...state("a.csv", "2", effects) });
    await deliver({ key: "k2", at: 2, ...state("b.csv", "1", [upsert("a", 1, 2)]) });
    expect(await query(ROWS)).toEqual([row("a", 1, 1)]);
  });

  test("a deleted object removes only its own rows, and rows it hid become visible", async () => {
    const { deliver, query } = await world();
    const shared = (celsius: number) => [upsert("a", 1, celsius)];
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", shared(1)) });
    await deliver({ key: "k2", at: 2, ...state("b.csv", "1", shared(2)) });
    await deliver({ key: "k3", at: 3, ...state("c.csv", "1", shared(3)) });
    await deliver({ key: "k4", at: 4, object: "a.csv", sequencer: "2", removed: true });
    expect(await query(ROWS)).toEqual([row("a", 1, 3)]);
    await deliver({ key: "k5", at: 5, object: "c.csv", sequencer: "2", removed: true });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("messages on one row are ordered by event time, then by record key", async () => {
    const { deliver, query } = await world();
    await deliver({ key: "b", at: 2, effects: [upsert("a", 1, 2)] });
    await deliver({ key: "a", at: 2, effects: [upsert("a", 1, 1)] });
    await deliver({ key: "c", at: 1, effects: [upsert("a", 1, 3)] });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
    await deliver({ key: "d", at: 4, effects: [upsert("a", 1, 2)] });
    await deliver({ key: "e", at: 3, effects: [upsert("a", 1, 5)] });
    expect(await query(ROWS)).toEqual([row("a", 1, 2)]);
  });

  test("a deleted row is not restored by an older event, but by a newer one", async () => {
    const { deliver, query } = await world();
    await deliver({ key: "k1", at: 1, ...state("a.csv", "1", [upsert("a", 1, 1)]) });
    await deliver({ key: "k3", at: 3, effects: [remove("a", 1), remove("b", 1)] });
    await deliver({ key: "k2", at: 2, effects: [upsert("a", 1, 2), upsert("b", 1, 2)] });
    expect(await query(ROWS)).toEqual([]);
    await deliver({ key: "k4", at: 4, ...state("a.csv", "2", [upsert("a", 1, 4)]) });
    expect(await query(ROWS)).toEqual([row("a", 1, 4)]);
  });
}

function describeLayout(subject: TableSinkSubject, mode: SinkMode): void {
  const table = (columns: Record<string, "text" | "integer" | "real" | "boolean">, key: string[]) =>
    specOf({ readings: { columns, key } });

  test("one of several concurrent starts creates the tables, and the others use them", async () => {
    const { address, query } = await subject.freshDatabase();
    const sinks = Array.from({ length: 4 }, () => openSink(mode, specOf(OBSERVATIONS), address));
    await Promise.all(sinks.map((sink) => sink.prepare()));
    for (const sink of sinks) await sink.close();
    expect(await query(ROWS)).toEqual([]);
  });

  test("a column that is missing in the table is added", async () => {
    const database = await subject.freshDatabase();
    const before = await openWorld(mode, table({ id: "text", v: "real" }, ["id"]), database);
    const first: Effect = { kind: "upsert", table: "readings", row: { id: "a", v: 1 } };
    await before.deliver({ key: "k1", at: 1, effects: [first] });
    await before.close();
    const wider = table({ note: "text", v: "real", id: "text" }, ["id"]);
    const after = await openWorld(mode, wider, database);
    const second: Effect = { kind: "upsert", table: "readings", row: { id: "b", note: "n", v: 2 } };
    await after.deliver({ key: "k2", at: 1, effects: [second] });
    expect(await database.query("SELECT * FROM readings ORDER BY id")).toEqual([
      { id: "a", v: 1, note: null },
      { id: "b", v: 2, note: "n" },
    ]);
    await after.close();
  });

  test.each([
    [table({ id: "text", v: "text" }, ["id"]), /readings\.v is .*, but the pipeline has text/],
    [table({ id: "text", v: "real" }, ["id", "v"]), /has the key \(id\), .* has \(id, v\)/],
    [table({ id: "text" }, ["id"]), /has a column v, which the pipeline does not have/],
  ])(
    "a table that differs is rejected in a sentence, and left unchanged: %#",
    async (spec, why) => {
      const { address, query } = await subject.freshDatabase();
      const made = openSink(mode, table({ id: "text", v: "real" }, ["id"]), address);
      await made.prepare();
      await made.close();
      const more = { ...spec, tables: { ...spec.tables, ...OBSERVATIONS } };
      const sink = openSink(mode, more, address);
      const refusal = { code: "TG_CONFIG_INVALID", message: expect.stringMatching(why) };
      await expect(sink.prepare()).rejects.toMatchObject(refusal);
      await sink.close();
      expect(await query("SELECT id, v FROM readings")).toEqual([]);
      await expect(query(ROWS)).rejects.toThrow();
    },
  );

  test("a table that Tidegate did not create is not touched", async () => {
    const { address, query } = await subject.freshDatabase();
    await query("CREATE TABLE readings (id TEXT PRIMARY KEY)");
    const sink = openSink(mode, table({ id: "text" }, ["id"]), address);
    const refusal = { code: "TG_CONFIG_INVALID", message: /which Tidegate did not create/ };
    await expect(sink.prepare()).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(refusal.message),
    });
    await sink.close();
    expect(await query("SELECT * FROM readings")).toEqual([]);
  });
}
