// Schema: migrates a PostgreSQL database to the tables of this version.
//   M1. Parts (the ledger, the outbox) have separate version counters.
//   M2. A migration never changes once released; a new one follows it.
//   M3. A database of a newer version is rejected with TG_STORE_NEWER and left unchanged.

import type { Pool, PoolClient } from "pg";
import { TidegateError } from "../../core/errors.ts";
import { patientLimits } from "../../ledger/sql-limits.ts";
import { postgresLedger0001 } from "./migrations/0001-ledger.ts";
import { postgresOutbox0001 } from "./migrations/0001-outbox.ts";
import { postgresLedger0002 } from "./migrations/0002-notes.ts";
import { UPKEEP_MS_MAX, upkeep } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

export const POSTGRES_LEDGER_MIGRATIONS: readonly string[] = [
  postgresLedger0001,
  postgresLedger0002,
];
export const POSTGRES_OUTBOX_MIGRATIONS: readonly string[] = [postgresOutbox0001];

/** The advisory lock: one process migrates, the others wait and then find nothing to do. */
const MIGRATION_LOCK = 7_412_530_071;

async function schemaVersion(client: Pool | PoolClient, part: string): Promise<number> {
  const table = await client.query("SELECT to_regclass('tidegate_schema') AS name");
  if (table.rows[0]?.name === null) return 0;
  const stored = await client.query("SELECT version FROM tidegate_schema WHERE part = $1", [part]);
  return Number(stored.rows[0]?.version ?? 0);
}

/** The migrations that are missing; throws if the database is newer (M3). */
export async function missingPostgresMigrations(
  client: Pool | PoolClient,
  part: string,
  migrations: readonly string[],
): Promise<readonly string[]> {
  const version = await schemaVersion(client, part);
  if (version > migrations.length) {
    const message = `the ${part} has schema ${version}; this release supports up to ${migrations.length}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return migrations.slice(version);
}

/** Runs missing migrations in one transaction; safe when several processes start at once. */
export async function migratePostgres(
  pool: Pool,
  part: string,
  migrations: readonly string[],
): Promise<void> {
  if ((await missingPostgresMigrations(pool, part, migrations)).length === 0) return;
  const migrate = async (client: PoolClient) => {
    await client.query(upkeep("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]));
    await client.query(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part text PRIMARY KEY, version integer NOT NULL)`,
    );
    for (const sql of await missingPostgresMigrations(client, part, migrations)) {
      await client.query(upkeep(sql));
    }
    await client.query(
      `INSERT INTO tidegate_schema VALUES ($1, $2)
       ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
      [part, migrations.length],
    );
  };
  await inPostgresTransaction(pool, "migration", migrate, patientLimits(UPKEEP_MS_MAX));
}
