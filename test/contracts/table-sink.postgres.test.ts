import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { tellMissing } from "../requires.ts";
import { startPostgres } from "./postgres-server.ts";
import { describeTableSink } from "./table-sink.ts";
import { describeAlone, describeWithLedger } from "./table-sink-modes.ts";
import {
  type DatabaseRow,
  OBSERVATIONS,
  openSink,
  specOf,
  type TestDatabase,
} from "./table-sink-world.ts";

const server = await startPostgres({ fsync: "off" });
if ("missing" in server) tellMissing("PostgreSQL", server.missing);
const base = "url" in server ? server.url : "";
afterAll(() => {
  if ("url" in server) server.stop();
});
let schemas = 0;

/** Numbers of eight bytes come as text, since not all of them fit; those of tests do. */
function plain(row: DatabaseRow): DatabaseRow {
  const entries = Object.entries(row).map(([name, value]) => {
    return [name, name === "at" ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}

async function query(url: string, sql: string): Promise<DatabaseRow[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows.map(plain);
  } finally {
    await client.end();
  }
}

/** A schema of its own. */
async function freshDatabase(): Promise<TestDatabase> {
  schemas += 1;
  await query(base, `CREATE SCHEMA s${schemas}`);
  const url = `${base}?options=-csearch_path%3Ds${schemas}`;
  return {
    address: { dialect: "postgres", url },
    openLedger: (clock) => createPostgresLedger({ clock }, { url }),
    query: (sql) => query(url, sql),
  };
}

describe.skipIf("missing" in server)("PostgreSQL", () => {
  const subject = { name: "PostgreSQL", freshDatabase };
  describeTableSink(subject);
  describeWithLedger(subject);
  describeAlone(subject);

  test("views of others upon a table outlive a column that is added to it", async () => {
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

  test("a database that is down, absent or read-only is worth another try", async () => {
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
