// Schema: the tables of this version in a PostgreSQL database, and the steps to it.
//   M1. Parts (the ledger, the outbox) have separate versions.
//   M2. A database of a version that this release may not use is rejected and left unchanged.
//   M3. An upgrade is a command (upgrade-tables.ts): several releases share a server, and its
//       owner decides when they may.

import type { Pool, PoolClient } from "pg";
import {
  judgeSchema,
  outdatedSchema,
  type SchemaStep,
  type StoredSchema,
  type SupportedSchema,
} from "../../ledger/schema-version.ts";
import { POSTGRES_BATCH_TABLES } from "./batch-tables.ts";
import { POSTGRES_CLOCK_TABLE } from "./clock-table.ts";
import { POSTGRES_LEDGER_TABLES } from "./ledger-tables.ts";
import { POSTGRES_OUTBOX_TABLES } from "./outbox-tables.ts";
import { patientLimits } from "./sql/sql-limits.ts";
import { UPKEEP_MS_MAX, upkeep } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

export interface PostgresSchema extends SupportedSchema {
  readonly tables: string;
  /** From `oldest` on. */
  readonly steps: readonly SchemaStep[];
}

const LIMITS_TABLE = `
CREATE TABLE IF NOT EXISTS tidegate_schema_limits (
  part text PRIMARY KEY,
  readers_from integer NOT NULL,
  writers_from integer NOT NULL
);
`;

export const POSTGRES_LEDGER: PostgresSchema = {
  part: "ledger",
  version: 7,
  oldest: 6,
  tables: POSTGRES_LEDGER_TABLES + POSTGRES_CLOCK_TABLE,
  steps: [{ to: 7, readersFrom: 6, writersFrom: 6, sql: LIMITS_TABLE }],
};
export const POSTGRES_OUTBOX: PostgresSchema = {
  part: "outbox",
  version: 4,
  oldest: 3,
  tables: POSTGRES_OUTBOX_TABLES + POSTGRES_BATCH_TABLES + POSTGRES_CLOCK_TABLE,
  steps: [{ to: 4, readersFrom: 3, writersFrom: 3, sql: LIMITS_TABLE }],
};

/** The advisory lock: one process changes the schema, the others wait and then look again. */
export const SCHEMA_LOCK = 7_412_530_071;

/** What the database has of a part; null if the part is missing. */
export async function schemaInDatabase(
  client: Pool | PoolClient,
  part: string,
): Promise<StoredSchema | null> {
  const { rows: tables } = await client.query(
    `SELECT to_regclass('tidegate_schema') IS NOT NULL AS schema,
      to_regclass('tidegate_schema_limits') IS NOT NULL AS limits`,
  );
  if (tables[0]?.schema !== true) return null;
  const join = "LEFT JOIN tidegate_schema_limits AS l ON l.part = s.part";
  const from = `FROM tidegate_schema AS s ${tables[0].limits === true ? join : ""}`;
  const columns = tables[0].limits === true ? "version, readers_from, writers_from" : "version";
  const { rows } = await client.query(`SELECT ${columns} ${from} WHERE s.part = $1`, [part]);
  if (rows[0] === undefined) return null;
  const version = Number(rows[0].version);
  const readersFrom = Number(rows[0].readers_from ?? version);
  return { version, readersFrom, writersFrom: Number(rows[0].writers_from ?? version) };
}

/** Whether the database has the part; throws if this release may not use it so (M2, M3). */
export async function hasPostgresSchema(
  client: Pool | PoolClient,
  schema: PostgresSchema,
  use: "read" | "write",
): Promise<boolean> {
  const stored = await schemaInDatabase(client, schema.part);
  const state = judgeSchema(stored, schema, use);
  if (state === "outdated" && use === "write") {
    throw outdatedSchema(schema, stored?.version ?? 0);
  }
  return state !== "missing";
}

/** Creates missing tables in one transaction; safe when several processes start at once. */
export async function createPostgresTables(pool: Pool, schema: PostgresSchema): Promise<void> {
  if (await hasPostgresSchema(pool, schema, "write")) return;
  const { part, version, tables, steps } = schema;
  const last = steps.at(-1) ?? { readersFrom: version, writersFrom: version };
  const create = async (client: PoolClient) => {
    await client.query(upkeep("SELECT pg_advisory_xact_lock($1)", [SCHEMA_LOCK]));
    await client.query(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part text PRIMARY KEY, version integer NOT NULL)`,
    );
    // Another process may have come first; only now, with the lock held, is the answer final.
    if (await hasPostgresSchema(client, schema, "write")) return;
    await client.query(upkeep(tables + LIMITS_TABLE));
    await client.query(saveSchemaSql(part, { ...last, version }));
  };
  await inPostgresTransaction(pool, "schema", create, patientLimits(UPKEEP_MS_MAX));
}

/** Statements without parameters, so that an administrator can run them, too. */
export function saveSchemaSql(
  part: string,
  { version, readersFrom, writersFrom }: StoredSchema,
): string {
  return `INSERT INTO tidegate_schema_limits AS l VALUES ('${part}', ${readersFrom}, ${writersFrom})
  ON CONFLICT (part) DO UPDATE SET readers_from = greatest(l.readers_from, excluded.readers_from),
    writers_from = greatest(l.writers_from, excluded.writers_from);
INSERT INTO tidegate_schema AS s VALUES ('${part}', ${version})
  ON CONFLICT (part) DO UPDATE SET version = greatest(s.version, excluded.version);`;
}
