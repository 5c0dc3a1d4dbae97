// Schema: the tables of this version in a PostgreSQL database.
//   M1. Parts (the ledger, the outbox) have separate versions.
//   M2. A version has one set of tables. Nothing is migrated: a database of another version, older
//       or newer, is rejected and left unchanged.

import type { Pool, PoolClient } from "pg";
import { otherVersion } from "../../ledger/schema-version.ts";
import { POSTGRES_BATCH_TABLES } from "./batch-tables.ts";
import { POSTGRES_CLOCK_TABLE } from "./clock-table.ts";
import { POSTGRES_LEDGER_TABLES } from "./ledger-tables.ts";
import { POSTGRES_OUTBOX_TABLES } from "./outbox-tables.ts";
import { patientLimits } from "./sql/sql-limits.ts";
import { UPKEEP_MS_MAX, upkeep } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

export interface PostgresSchema {
  readonly part: "ledger" | "outbox";
  readonly version: number;
  readonly tables: string;
}

export const POSTGRES_LEDGER: PostgresSchema = {
  part: "ledger",
  version: 6,
  tables: POSTGRES_LEDGER_TABLES + POSTGRES_CLOCK_TABLE,
};
export const POSTGRES_OUTBOX: PostgresSchema = {
  part: "outbox",
  version: 3,
  tables: POSTGRES_OUTBOX_TABLES + POSTGRES_BATCH_TABLES + POSTGRES_CLOCK_TABLE,
};

/** The advisory lock: one process creates tables, the others wait and then find nothing to do. */
const SCHEMA_LOCK = 7_412_530_071;

/** Whether the database has the part; throws if it has another version of it (M2). */
export async function hasPostgresSchema(
  client: Pool | PoolClient,
  { part, version }: PostgresSchema,
): Promise<boolean> {
  const table = await client.query("SELECT to_regclass('tidegate_schema') AS name");
  if (table.rows[0]?.name === null) return false;
  const stored = await client.query("SELECT version FROM tidegate_schema WHERE part = $1", [part]);
  const existing = Number(stored.rows[0]?.version ?? 0);
  if (existing !== 0 && existing !== version) throw otherVersion(part, existing, version);
  return existing === version;
}

/** Creates missing tables in one transaction; safe when several processes start at once. */
export async function createPostgresTables(pool: Pool, schema: PostgresSchema): Promise<void> {
  if (await hasPostgresSchema(pool, schema)) return;
  const { part, version, tables } = schema;
  const create = async (client: PoolClient) => {
    await client.query(upkeep("SELECT pg_advisory_xact_lock($1)", [SCHEMA_LOCK]));
    await client.query(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part text PRIMARY KEY, version integer NOT NULL)`,
    );
    // Another process may have come first; only now, with the lock held, is the answer final.
    if (await hasPostgresSchema(client, schema)) return;
    await client.query(upkeep(tables));
    await client.query("INSERT INTO tidegate_schema VALUES ($1, $2)", [part, version]);
  };
  await inPostgresTransaction(pool, "schema", create, patientLimits(UPKEEP_MS_MAX));
}
