import { describe, expect, test } from "vitest";
import { fenceOf } from "../../src/ledger/record-state.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import {
  type DatabaseRow,
  OBSERVATIONS,
  openSink,
  openWorld,
  originOf,
  specOf,
  type TestDatabase,
} from "../support/stores/table-sink-world.ts";
import { describeTableSink } from "./table-sink.ts";
import { describeExisting, describeTypes } from "./table-sink-existing.ts";
import { describeRowLineage } from "./table-sink-lineage.ts";
import { describeAlone, describeWithLedger } from "./table-sink-modes.ts";
import { describeStages } from "./table-sink-stages.ts";

const { available, url: base, freshUrl } = await usePostgres();

/** The driver returns 64-bit numbers as text; those of the tests fit into a number. */
function plain(row: DatabaseRow): DatabaseRow {
  const entries = Object.entries(row).map(([name, value]) => {
    return [name, name === "at" ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}

/** A schema of its own. */
async function freshDatabase(): Promise<TestDatabase> {
  const url = await freshUrl();
  return {
    address: { dialect: "postgres", url },
    openLedger: (clock) => createPostgresLedger({ clock }, { url }),
    query: async (sql) => (await queryPostgres(url, sql)).map(plain),
  };
}

describe.skipIf(!available)("PostgreSQL", () => {
  const subject = { name: "PostgreSQL", freshDatabase };
  describeTableSink(subject);
  describeWithLedger(subject);
  describeAlone(subject);
  describeStages(subject);
  describeExisting(subject);
  describeTypes(subject);
  describeRowLineage(subject);

  test("users' views on a table survive an added column", async () => {
    const { address, query: ask } = await freshDatabase();
    const columns = { id: "text" } as const;
    const narrow = openSink("direct", specOf({ t: { columns, key: ["id"] } }), address);
    await narrow.prepare();
    await ask("CREATE VIEW report AS SELECT count(*) AS n FROM t");
    const more = { note: "text", ...columns } as const;
    await openSink("direct", specOf({ t: { columns: more, key: ["id"] } }), address).prepare();
    expect(await ask("SELECT n FROM report")).toEqual([{ n: "0" }]);
    expect(await ask("SELECT id, note FROM t")).toEqual([]);
  });

  test("an existing table may have a schema, enums, arrays and generated columns", async () => {
    const database = await freshDatabase();
    const { query: ask } = database;
    await ask("CREATE TYPE mood AS ENUM ('good', 'bad')");
    await ask("DROP SCHEMA IF EXISTS sales CASCADE");
    await ask("CREATE SCHEMA sales");
    await ask(`CREATE TABLE sales."Order Lines" (id integer PRIMARY KEY, feels mood, tags text[],
      sizes integer[], twice integer GENERATED ALWAYS AS (id * 2) STORED)`);
    const spec = specOf({ "sales.Order Lines": { existing: true, key: ["id"] } });
    const world = await openWorld("claimed", spec, database);
    const write = (key: string, at: number, object: string, feels: string) =>
      world.deliver({
        key,
        at,
        object,
        sequencer: "1",
        effects: [
          {
            kind: "upsert",
            table: "sales.Order Lines",
            row: { id: 7, feels, tags: ['a"b\\', null, "{c}"], sizes: [1, 2] },
          },
        ],
      });
    await write("k1", 1, "a", "good");
    await write("k2", 2, "b", "bad");
    await world.deliver({ key: "k3", at: 3, object: "b", sequencer: "2", removed: true });
    expect(await ask('SELECT * FROM sales."Order Lines"')).toEqual([
      { id: 7, feels: "good", tags: ['a"b\\', null, "{c}"], sizes: [1, 2], twice: 14 },
    ]);
    await expect(write("k4", 4, "c", "angry")).rejects.toMatchObject({ code: "TG_SINK_REFUSED" });
    await world.close();
  });

  test("arrays of a created table are native", async () => {
    const database = await freshDatabase();
    const columns = { id: "integer", at: "timestamp[]", names: "text[]" } as const;
    const world = await openWorld("direct", specOf({ t: { columns, key: ["id"] } }), database);
    const row = { id: 1, at: ["2026-01-01T00:00:00Z"], names: ["x", "y"] };
    await world.deliver({ key: "k", at: 1, effects: [{ kind: "upsert", table: "t", row }] });
    expect(await database.query("SELECT names, cardinality(at) AS n FROM t")).toEqual([
      { names: ["x", "y"], n: 1 },
    ]);
    await world.close();
  });

  test("a connection that the server ends is replaced by another", async () => {
    const { address, query: ask } = await freshDatabase();
    const sink = openSink("idempotent", specOf(OBSERVATIONS), address);
    if (sink.mode !== "idempotent") throw new Error("the wrong sink");
    await sink.prepare();
    const apply = async (at: number) => {
      const row = { station: "a", at, celsius: 1 };
      const origin = { ...originOf({ key: `k${at}`, at }), fence: fenceOf(1) };
      const { signal } = new AbortController();
      await sink.apply([{ kind: "upsert", table: "observations", row }], origin, signal);
    };
    await apply(1);
    await ask(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
      WHERE application_name = 'tidegate-sink'`);
    // The loss may be noticed before the next call or by it.
    const unavailable = { code: "TG_SINK_UNAVAILABLE", retry: "later" };
    await apply(2).catch((error) => expect(error).toMatchObject(unavailable));
    await apply(2);
    expect(await ask("SELECT at FROM observations ORDER BY at")).toEqual([{ at: 1 }, { at: 2 }]);
    await sink.close();
  });

  test("a database that is down, missing or read-only is a retryable failure", async () => {
    const unavailable = { code: "TG_SINK_UNAVAILABLE", retry: "later" };
    const own = (await freshDatabase()).address;
    const url = own.dialect === "postgres" ? own.url : "";
    const readOnly = url.replace("options=", "options=-cdefault_transaction_read_only%3Don%20");
    const absent = base.replace("/ledger", "/absent");
    for (const at of ["postgres://127.0.0.1:1/none", absent, readOnly]) {
      const address = { dialect: "postgres", url: at } as const;
      const sink = openSink("idempotent", specOf(OBSERVATIONS), address);
      await expect(sink.prepare()).rejects.toMatchObject(unavailable);
      await sink.close();
    }
  });
});
