// PostgreSQL database of a sink.
//   O1. One process creates the tables while the others wait: an advisory lock.
//   O2. A statement that times out has an unknown outcome: the server may still run it. The sink
//       reports an unavailable database and closes the connection. The effects are applied again,
//       with the same result (A2 of table-sink.ts). The client enforces the limit, as a silent
//       server does not.

import pg from "pg";
import { type ErrorCode, reasonOf, TidegateError } from "../../../core/errors.ts";
import { hasLongWrite, type SinkWrite, sinkParams } from "../../../core/sink-write.ts";
import type { TablesSpec } from "../../../core/table-spec.ts";
import { type DurationMs, minutes, seconds } from "../../../core/units.ts";
import {
  createStatementNames,
  LONG_WRITE_MS_MAX,
  runPostgresWrites,
} from "../../../stores/postgres/sql/sink-writes.ts";
import { patientLimits, sqlLimits } from "../../../stores/postgres/sql/sql-limits.ts";
import { SQL_NO_PRIVILEGE, sqlState } from "../../../stores/postgres/sql/sql-state.ts";
import { layoutOf, relationsOf } from "../layout.ts";
import { quotedName } from "../names.ts";
import type { ExistingColumn, Relation } from "../relation.ts";
import type { TableShape } from "../shape.ts";
import type { SinkDatabase } from "./database.ts";
import { POSTGRES } from "./dialect.ts";
import { inSinkTransaction } from "./postgres-transaction.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 10_000;
/** TCP keep-alive probes start after this much silence and detect a dead peer between calls. */
const KEEP_ALIVE_MS = 10_000;
/** Timeout of a statement. */
export const SINK_STATEMENT_MS_MAX: DurationMs = seconds(15);
/** Timeout while creating tables, which may wait for another process or for readers of a table. */
export const LAYOUT_MS_MAX: DurationMs = minutes(10);
/** Differs from the ledger's lock, which may be migrating the same database. */
const LAYOUT_LOCK = 7_412_530_072;
/** Classes: bad data, violated constraints, syntax and access rules, limits, raised errors. */
const REFUSED = /^(21|22|23|42|44|54|P0)/;

export function openPostgresDatabase(
  url: string,
  statementMsMax: DurationMs = SINK_STATEMENT_MS_MAX,
): SinkDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: statementMsMax, // O2
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: "tidegate-sink",
  });
  // An idle connection that breaks leaves the pool; the next call opens another or reports the
  // error. The pool does not watch a connection that is checked out: see X2 of
  // postgres-transaction.ts.
  pool.on("error", () => {});
  const nameOf = createStatementNames();
  const limits = sqlLimits(statementMsMax);
  let closed = false;
  return {
    async prepare(tables) {
      let shapes: ReadonlyMap<string, TableShape> = new Map();
      await guarded(() =>
        inSinkTransaction(pool, patientLimits(LAYOUT_MS_MAX), async (client) => {
          shapes = await makeTables(client, tables);
          return "commit";
        }),
      );
      return shapes;
    },
    async transact(writes: readonly SinkWrite[], signal: AbortSignal, fence = 0) {
      const run = async (client: pg.PoolClient) => {
        if (signal.aborted) return "roll-back";
        await runPostgresWrites(client, writes, fence, nameOf);
        return signal.aborted ? "roll-back" : "commit";
      };
      const within = hasLongWrite(writes) ? patientLimits(LONG_WRITE_MS_MAX) : limits;
      await guarded(() => inSinkTransaction(pool, within, run));
      signal.throwIfAborted();
    },
    async read(write) {
      let rows: readonly Readonly<Record<string, unknown>>[] = [];
      await guarded(async () => {
        // The driver accepts a timeout per statement, which its types omit.
        const limited = { query_timeout: LONG_WRITE_MS_MAX };
        const query = { text: write.statement, values: sinkParams(write, 0), ...limited };
        rows = (await pool.query(query)).rows;
      });
      return rows;
    },
    async close() {
      if (closed) return;
      closed = true;
      await pool.end();
    },
  };
}

async function guarded(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw postgresFault(error);
  }
}

/** A statement that may wait for others, with the longer timeout. */
function layout(text: string, values: unknown[] = []): pg.QueryConfig {
  // The driver accepts a timeout per statement, which its types omit.
  const limited: pg.QueryConfig & { readonly query_timeout: number } = {
    text,
    values,
    query_timeout: LAYOUT_MS_MAX,
  };
  return limited;
}

async function makeTables(
  client: pg.PoolClient,
  tables: TablesSpec,
): Promise<ReadonlyMap<string, TableShape>> {
  await client.query(layout("SELECT pg_advisory_xact_lock($1)", [LAYOUT_LOCK])); // O1
  const relations = new Map<string, Relation | null>();
  for (const name of relationsOf(tables)) relations.set(name, await describe(client, name));
  const { steps, shapes } = layoutOf(POSTGRES, tables, (name) => relations.get(name) ?? null);
  for (const step of steps) await client.query(layout(step));
  return shapes;
}

const KINDS = new Map<unknown, Relation["kind"]>([
  ["r", "table"],
  ["p", "table"],
  ["v", "view"],
]);

async function describe(client: pg.PoolClient, name: string): Promise<Relation | null> {
  // Side tables of a qualified name have its dot in their own name.
  const parts = name.startsWith("_tg_") ? [name] : name.split(".");
  const relation = await client.query(
    "SELECT oid, relkind FROM pg_class WHERE oid = to_regclass($1)",
    [parts.map(quotedName).join(".")],
  );
  const entry = relation.rows[0];
  if (entry === undefined) return null;
  const { rows } = await client.query(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
       COALESCE(array_position(i.indkey::smallint[], a.attnum), -1) AS position,
       a.attgenerated <> '' OR a.attidentity = 'a' AS generated,
       a.atthasdef OR a.attidentity <> '' AS filled
     FROM pg_attribute AS a
     LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [entry.oid],
  );
  // A vector of the catalogue starts at 0.
  const columns = rows.map((row): ExistingColumn => {
    const { name: column, type, position, generated, filled } = row;
    return { name: column, type, keyPosition: Number(position) + 1, generated, filled };
  });
  const unique = await uniqueOf(client, entry.oid);
  return { kind: KINDS.get(entry.relkind) ?? "other", columns, unique };
}

async function uniqueOf(client: pg.PoolClient, oid: unknown): Promise<string[][]> {
  const { rows } = await client.query(
    `SELECT array_agg(a.attname::text ORDER BY a.attnum) AS columns
     FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid
       AND a.attnum = ANY ((i.indkey::smallint[])[0:i.indnkeyatts - 1])
     WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indimmediate
       AND i.indpred IS NULL AND i.indexprs IS NULL
     GROUP BY i.indexrelid`,
    [oid],
  );
  return rows.map(({ columns }) => columns);
}

/** The TidegateError of a sink for an error of the driver or the network. */
export function postgresFault(error: unknown): unknown {
  if (error instanceof TidegateError) return error;
  const state = sqlState(error);
  const faultWith = (verdict: ErrorCode, what: string) =>
    new TidegateError(verdict, `${what}: ${reasonOf(error)}`, { cause: error });
  return state !== SQL_NO_PRIVILEGE && REFUSED.test(state)
    ? faultWith("TG_SINK_REFUSED", "the sink's database rejected a statement")
    : faultWith("TG_SINK_UNAVAILABLE", "the sink's database cannot be used");
}
