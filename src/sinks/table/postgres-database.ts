// PostgreSQL database of a sink.
//   O1. One process makes the tables, the others wait for it: an advisory lock.
//   O2. A transaction that lost against another is run again, up to TRIES_MAX times: its statements
//       are the same, and decide anew.

import pg from "pg";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";
import { lostTransaction, SQL_NO_PRIVILEGE, sqlState } from "../../core/sql-state.ts";
import type { TablesSpec } from "../../core/table-spec.ts";
import type { BoundWrite, SinkDatabase } from "./database.ts";
import { POSTGRES, quoted } from "./dialect.ts";
import { type FoundColumn, layoutSteps, type Relation, rowsTable } from "./layout.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 10_000;
const TRIES_MAX = 16;
/** Another than the ledger's, which may be migrating the same database. */
const LAYOUT_LOCK = 7_412_530_072;
/** Classes: bad data, violated constraints, syntax and access rules, limits of the program. */
const REFUSED = /^(22|23|42|54)/;

export function openPostgresDatabase(url: string): SinkDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "tidegate-sink",
  });
  // An idle connection that breaks leaves the pool; the next call opens another or tells why not.
  pool.on("error", () => {});
  // A sink has a few statements per table, so none need ever be forgotten.
  const names = new Map<string, string>();
  const nameOf = (statement: string): string => {
    const name = names.get(statement) ?? `tidegate_sink_${names.size + 1}`;
    names.set(statement, name);
    return name;
  };
  let closed = false;
  return {
    prepare: (tables) => inTransaction(pool, (client) => makeTables(client, tables)),
    async transact(writes: readonly BoundWrite[], signal: AbortSignal) {
      await inTransaction(pool, async (client) => {
        for (const { statement, params } of writes) {
          if (signal.aborted) return "undo";
          await client.query({ name: nameOf(statement), text: statement, values: [...params] });
        }
        return signal.aborted ? "undo" : "seal";
      });
      signal.throwIfAborted();
    },
    async close() {
      if (closed) return;
      closed = true;
      await pool.end();
    },
  };
}

type Work = (client: pg.PoolClient) => Promise<"seal" | "undo">;

async function inTransaction(pool: pg.Pool, work: Work): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await tryTransaction(pool, work);
    } catch (error) {
      if (!lostTransaction(error) || tries >= TRIES_MAX) throw postgresFault(error); // O2
    }
  }
}

async function tryTransaction(pool: pg.Pool, work: Work): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const verdict = await work(client);
    await client.query(verdict === "seal" ? "COMMIT" : "ROLLBACK");
    client.release();
  } catch (error) {
    client.release(true); // Closing the connection rolls back, whatever state it was left in.
    throw error;
  }
}

async function makeTables(client: pg.PoolClient, tables: TablesSpec): Promise<"seal"> {
  await client.query("SELECT pg_advisory_xact_lock($1)", [LAYOUT_LOCK]); // O1
  const relations = new Map<string, Relation | null>();
  for (const table of Object.keys(tables)) {
    for (const name of [table, rowsTable(table)]) relations.set(name, await describe(client, name));
  }
  const steps = layoutSteps(POSTGRES, tables, (name) => relations.get(name) ?? null);
  for (const step of steps) await client.query(step);
  return "seal";
}

const KINDS = new Map<unknown, Relation["kind"]>([
  ["r", "table"],
  ["p", "table"],
  ["v", "view"],
]);

async function describe(client: pg.PoolClient, name: string): Promise<Relation | null> {
  const relation = await client.query(
    "SELECT oid, relkind FROM pg_class WHERE oid = to_regclass($1)",
    [quoted(name)],
  );
  const found = relation.rows[0];
  if (found === undefined) return null;
  const { rows } = await client.query(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
       COALESCE(array_position(i.indkey::smallint[], a.attnum), -1) AS place
     FROM pg_attribute AS a
     LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [found.oid],
  );
  // A vector of the catalogue counts from 0.
  const columns = rows.map(({ name, type, place }): FoundColumn => {
    return { name, type, keyPlace: Number(place) + 1 };
  });
  return { kind: KINDS.get(found.relkind) ?? "other", columns };
}

/** What an error of the driver or the network means to a sink. */
export function postgresFault(error: unknown): unknown {
  if (error instanceof TidegateError) return error;
  const state = sqlState(error);
  const told = (verdict: ErrorCode, what: string) =>
    new TidegateError(verdict, `${what}: ${reasonOf(error)}`, { cause: error });
  return state !== SQL_NO_PRIVILEGE && REFUSED.test(state)
    ? told("TG_SINK_REFUSED", "the sink's database refused a statement")
    : told("TG_SINK_UNAVAILABLE", "the sink's database cannot be used");
}
