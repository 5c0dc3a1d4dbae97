import pg from "pg";
import { afterAll, describe } from "vitest";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { tellMissing } from "../requires.ts";
import { startPostgres } from "./postgres-server.ts";
import { describeTableSink } from "./table-sink.ts";
import type { DatabaseRow, TestDatabase } from "./table-sink-world.ts";

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
  describeTableSink({ name: "PostgreSQL", freshDatabase });
});
