// Shadows of the table sink on SQLite and PostgreSQL: the same content hashes, the same
// differences, and promotions that race with live writes.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TableSinkSpec, TablesSpec } from "../../src/core/table-spec.ts";
import { epochMs } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Effect, IdempotentSink } from "../../src/ports/sink.ts";
import { databaseAddress } from "../../src/sinks/table/databases/database.ts";
import { createIdempotentTableSink, openTableShadow } from "../../src/sinks/table/index.ts";
import { openSinkDatabase } from "../../src/sinks/table/table-sink.ts";
import { usePostgres } from "../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("table-shadow");
const { available, freshUrl } = await usePostgres();
const SIGNAL = new AbortController().signal;

const TYPES: TablesSpec = {
  item: {
    columns: {
      id: "text",
      at: "timestamp",
      day: "date",
      whole: "integer",
      big: "bigint",
      exact: "decimal(12,4)",
      real: "real",
      yes: "boolean",
      doc: "json",
      raw: "bytes",
      ref: "uuid",
    },
    key: ["id", "whole"],
  },
};

const NUMBERS: TablesSpec = { item: { columns: { id: "text", n: "integer" }, key: ["id"] } };

function rowOf(id: string, n: number) {
  return {
    id,
    at: new Date(Date.UTC(2026, 10, 17, 8, 0, 0, n)),
    day: "2026-11-17",
    whole: n,
    big: 2n ** 60n + BigInt(n),
    exact: `${n}.50`,
    real: n / 3,
    yes: n % 2 === 0,
    doc: { b: n, a: [1, "ü"] },
    raw: new Uint8Array([n, 255]),
    ref: "0190a0a0-0000-7000-8000-00000000000a",
  };
}

interface Applied {
  readonly table?: string;
  readonly fence?: number;
  /** A quarantine redrive: the rows are added to the version. */
  readonly adds?: boolean;
}

function apply(
  sink: IdempotentSink,
  object: string,
  version: number,
  rows: readonly object[],
  { table = "item", fence = 10_000 + version, adds = false }: Applied = {},
): Promise<void> {
  const effects = rows.map((row) => ({ kind: "upsert", table, row }) as Effect);
  const sequencer = version.toString(16).padStart(4, "0");
  const key = asRecordKey(`k1:${version.toString(16).padStart(13, "0")}${object}`);
  const event = { bucket: "files", key: object, sequencer, removed: false };
  const origin = {
    key: adds ? asRecordKey(`k1:redrive of ${key}`) : key,
    object: adds ? { ...event, addsTo: key } : event,
    eventTime: epochMs(1_000 + version),
    fence: fenceOf(fence),
  };
  return sink.apply(effects, origin, SIGNAL);
}

/** The message with that number, which is its event time and its rank. */
function applyMessage(sink: IdempotentSink, number: number, rows: readonly object[]) {
  const effects = rows.map((row) => ({ kind: "upsert", table: "item", row }) as Effect);
  const key = asRecordKey(`k1:${number.toString(16).padStart(13, "0")}`);
  const eventTime = epochMs(1_000 + number);
  return sink.apply(effects, { key, object: null, eventTime, fence: fenceOf(10_000) }, SIGNAL);
}

async function rowsIn(database: string): Promise<string[]> {
  const opened = await openSinkDatabase(databaseAddress(database));
  const rows = await opened.read({ statement: "SELECT id, n FROM item ORDER BY id", params: [] });
  await opened.close();
  return rows.map(({ id, n }) => `${id}=${n}`);
}

async function open(
  database: string,
  tables: TablesSpec,
  id = "0000000a",
  onReplaced: TableSinkSpec["onReplaced"] = "delete",
) {
  const spec: TableSinkSpec = { kind: "tables", tables, database, onReplaced };
  const live = createIdempotentTableSink(spec);
  await live.prepare();
  const shadow = openTableShadow(spec, null, { id, run: "run" });
  await shadow.open();
  const sink = shadow.sink() as IdempotentSink;
  await sink.prepare();
  const close = () => Promise.all([live.close(), sink.close(), shadow.close()]);
  return { live, shadow, sink, close };
}

async function execute(database: string, statement: string): Promise<void> {
  const opened = await openSinkDatabase(databaseAddress(database));
  await opened.transact([{ statement, params: [], once: true }], SIGNAL);
  await opened.close();
}

const DATABASES = [
  { name: "SQLite", isThere: true, url: async () => join(folder, `${Math.random()}.db`) },
  { name: "PostgreSQL", isThere: available, url: freshUrl },
];

/** One for all databases. */
const HASHES = new Set<string>();

describe.each(DATABASES.filter(({ isThere }) => isThere))("$name", ({ url }) => {
  test("content hashes depend on the rows, and not on the database", async () => {
    const { shadow, sink, close } = await open(await url(), TYPES);
    for (const object of ["b", "a"]) {
      await apply(sink, object, 1, [rowOf(object, 1), rowOf(object, 2)]);
    }
    const [content] = await shadow.contents();
    expect(content?.rows).toBe(4);
    HASHES.add(content?.contentHash ?? "");
    expect(HASHES.size).toBe(1);
    await apply(sink, "b", 2, [rowOf("b", 1)]);
    expect((await shadow.contents())[0]?.contentHash).not.toBe(content?.contentHash);
    await close();
  });

  test("a difference compares all types, and a promotion leaves none", async () => {
    const { live, shadow, sink, close } = await open(await url(), TYPES);
    await apply(live, "a", 1, [rowOf("a", 1), rowOf("a", 2)]);
    await apply(live, "b", 1, [rowOf("b", 1)]);
    await apply(sink, "a", 1, [rowOf("a", 1), rowOf("a", 3)]);
    await apply(sink, "b", 1, [{ ...rowOf("b", 1), doc: { other: true } }]);
    await shadow.seal();
    const [before] = await shadow.diff(10);
    expect(before).toMatchObject({ added: 1, removed: 1, changed: 1, keptObjects: 0 });
    expect(before?.samples.map(({ kind }) => kind).sort()).toEqual(["added", "changed", "removed"]);
    expect(await shadow.promote()).toEqual({ appliedObjects: 2, keptObjects: 0, messages: 0 });
    expect((await shadow.diff(10))[0]).toMatchObject({ added: 0, removed: 0, changed: 0 });
    await shadow.drop();
    await shadow.drop();
    expect(await shadow.state()).toBeNull();
    await close();
  });

  test("live writes that race with a promotion are not lost", async () => {
    const tables = NUMBERS;
    const database = await url();
    const { live, shadow, sink, close } = await open(database, tables, "0000000b");
    const objects = Array.from({ length: 6 }, (_, at) => `o${at}`);
    // All objects share one key, so that every write is an election as well.
    const rows = (object: string, n: number) => [
      { id: object, n },
      { id: "shared", n },
    ];
    for (const object of objects) await apply(live, object, 1, rows(object, 1));
    for (const object of objects) await apply(sink, object, 1, rows(object, 2));
    await shadow.seal();
    const racing = objects.filter((_, at) => at % 2 === 0);
    const writeAll = async () => {
      for (const [at, object] of racing.entries()) {
        await apply(live, object, 5 + at, rows(object, 100 + at));
      }
    };
    const [promotion] = await Promise.all([shadow.promote(), writeAll()]);
    expect(promotion.appliedObjects + promotion.keptObjects).toBe(objects.length);
    const spec: TableSinkSpec = { kind: "tables", tables, database, onReplaced: "delete" };
    const check = openTableShadow(spec, null, { id: "0000000c", run: "check" });
    await check.open();
    const wanted = check.sink() as IdempotentSink;
    await wanted.prepare();
    for (const [at, object] of objects.entries()) {
      const isRacing = at % 2 === 0;
      const n = isRacing ? 100 + at / 2 : 2;
      await apply(wanted, object, isRacing ? 5 + at / 2 : 1, rows(object, n));
    }
    await check.seal();
    expect((await check.diff(10))[0]).toMatchObject({ added: 0, removed: 0, changed: 0 });
    await Promise.all([wanted.close(), check.close(), close()]);
  });

  test("a promotion keeps rows that a redrive added, though its clock was behind", async () => {
    const { live, shadow, sink, close } = await open(await url(), NUMBERS);
    await apply(live, "a", 1, [{ id: "a", n: 1 }], { fence: 90_000 });
    await apply(live, "a", 1, [{ id: "added", n: 1 }], { fence: 20_000, adds: true });
    await apply(sink, "a", 1, [{ id: "a", n: 2 }], { fence: 30_000 });
    await shadow.seal();
    const unchanged = { added: 0, removed: 0, changed: 0, keptObjects: 1 };
    expect((await shadow.diff(10))[0]).toMatchObject(unchanged);
    expect(await shadow.promote()).toEqual({ appliedObjects: 0, keptObjects: 1, messages: 0 });
    expect((await shadow.diff(10))[0]).toMatchObject(unchanged);
    await close();
  });

  test("kept rows of an older version are not taken for added ones, if its clock was ahead", async () => {
    const { live, shadow, sink, close } = await open(await url(), NUMBERS, "0000000f", "keep");
    await apply(live, "a", 1, [{ id: "old", n: 1 }], { fence: 90_000 });
    await apply(live, "a", 1, [{ id: "added", n: 1 }], { fence: 91_000, adds: true });
    await apply(live, "a", 2, [{ id: "new", n: 1 }], { fence: 20_000 });
    await apply(sink, "a", 2, [{ id: "new", n: 2 }], { fence: 30_000 });
    await shadow.seal();
    expect((await shadow.diff(10))[0]).toMatchObject({ changed: 1, keptObjects: 0 });
    expect(await shadow.promote()).toEqual({ appliedObjects: 1, keptObjects: 0, messages: 0 });
    expect((await shadow.diff(10))[0]).toMatchObject({ added: 0, removed: 0, changed: 0 });
    await close();
  });

  test("an object from before the register had marks keeps its rows until its next event", async () => {
    const database = await url();
    const before = await open(database, NUMBERS);
    await apply(before.live, "a", 1, [{ id: "a", n: 1 }]);
    await apply(before.live, "b", 1, [{ id: "b", n: 1 }]);
    await before.close();
    await execute(database, "ALTER TABLE tidegate_sink_writers DROP COLUMN added");
    const { live, shadow, sink, close } = await open(database, NUMBERS, "0000001a");
    await apply(live, "b", 2, [{ id: "b", n: 2 }]);
    await apply(sink, "a", 1, [{ id: "a", n: 3 }]);
    await apply(sink, "b", 2, [{ id: "b", n: 3 }]);
    await shadow.seal();
    expect((await shadow.diff(10))[0]).toMatchObject({ changed: 1, keptObjects: 1 });
    expect(await shadow.promote()).toEqual({ appliedObjects: 1, keptObjects: 1, messages: 0 });
    await close();
  });

  test("messages replace their own rows, lose to newer ones, and race with live messages", async () => {
    const database = await url();
    const { live, shadow, sink, close } = await open(database, NUMBERS, "0000001b");
    const ids = Array.from({ length: 8 }, (_, at) => `m${at}`);
    for (const [at, id] of ids.entries()) await applyMessage(live, at, [{ id, n: 1 }]);
    await applyMessage(live, 20, [{ id: "gone", n: 1 }]);
    await applyMessage(live, 21, [{ id: "twice", n: 1 }]);
    await applyMessage(live, 22, [{ id: "twice", n: 2 }]);
    await apply(live, "file", 23, [{ id: "shared", n: 1 }]);
    for (const [at, id] of ids.entries()) await applyMessage(sink, at, [{ id, n: 2 }]);
    await applyMessage(sink, 20, []);
    await applyMessage(sink, 21, [{ id: "twice", n: 3 }]);
    await applyMessage(sink, 22, []); // Its row goes, and that of the older message returns.
    await applyMessage(sink, 24, [{ id: "shared", n: 2 }]); // Newer than the object.
    await shadow.seal();
    const [before] = await shadow.diff(20);
    expect(before).toMatchObject({ added: 0, removed: 1, changed: 10 });
    const racing = ids.filter((_, at) => at % 2 === 0);
    const writeAll = async () => {
      for (const [at, id] of racing.entries()) await applyMessage(live, 50 + at, [{ id, n: 9 }]);
    };
    const [promotion] = await Promise.all([shadow.promote(), writeAll()]);
    expect(promotion.messages).toBe(12);
    const wanted = ids.map((id, at) => `${id}=${at % 2 === 0 ? 9 : 2}`);
    expect(await rowsIn(database)).toEqual([...wanted, "shared=2", "twice=3"]);
    expect((await shadow.diff(10))[0]).toMatchObject({ added: 0, removed: 0, changed: 0 });
    await shadow.drop();
    await close();
  });

  test("an existing table has a shadow of the columns that the pipeline writes", async () => {
    const database = await url();
    const made: TablesSpec = { plain: { columns: { id: "text", n: "integer" }, key: ["id"] } };
    const { close } = await open(database, made, "0000000d");
    const existing: TablesSpec = { plain: { existing: true, key: ["id"], columns: ["id", "n"] } };
    const { live, shadow, sink, close: closeBoth } = await open(database, existing, "0000000e");
    await apply(live, "a", 1, [{ id: "a", n: 1 }], { table: "plain" });
    await apply(sink, "a", 1, [{ id: "a", n: 2 }], { table: "plain" });
    await shadow.seal();
    expect((await shadow.diff(1))[0]).toMatchObject({ changed: 1 });
    await shadow.promote();
    expect((await shadow.diff(1))[0]).toMatchObject({ changed: 0 });
    await Promise.all([close(), closeBoth()]);
  });
});
