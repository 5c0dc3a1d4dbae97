// Schema: brings a PostgreSQL database to the tables this version knows.
//   M1. Parts (the ledger, the outbox) count their versions apart.
//   M2. A migration is never changed once released; the next one follows it.
//   M3. A database of a newer version is refused with TG_STORE_NEWER and left as it is.

import type { Pool, PoolClient } from "pg";
import { TidegateError } from "../../core/errors.ts";
import { postgresLedger0001 } from "./migrations/0001-ledger.ts";
import { postgresOutbox0001 } from "./migrations/0001-outbox.ts";
import { postgresLedger0002 } from "./migrations/0002-notes.ts";
import { upkeep } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

export const POSTGRES_LEDGER_MIGRATIONS: readonly string[] = [
  postgresLedger0001,
  postgresLedger0002,
];
export const POSTGRES_OUTBOX_MIGRATIONS: readonly string[] = [postgresOutbox0001];

/** Names our advisory lock: one process migrates, the others wait and then find nothing to do. */
const MIGRATION_LOCK = 7_412_530_071;

async function schemaVersion(client: Pool | PoolClient, part: string): Promise<number> {
  const known = await client.query("SELECT to_regclass('tidegate_schema') AS name");
  if (known.rows[0]?.name === null) return 0;
  const found = await client.query("SELECT version FROM tidegate_schema WHERE part = $1", [part]);
  return Number(found.rows[0]?.version ?? 0);
}

/** Refuses a newer database (M3) and tells which migrations are missing. */
export async function missingPostgresMigrations(
  client: Pool | PoolClient,
  part: string,
  migrations: readonly string[],
): Promise<readonly string[]> {
  const version = await schemaVersion(client, part);
  if (version > migrations.length) {
    const message = `the ${part} has schema ${version}; this version knows ${migrations.length}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return migrations.slice(version);
}

/** Runs what is missing in one transaction; safe when several processes start at once. */
export async function migratePostgres(
  pool: Pool,
  part: string,
  migrations: readonly string[],
): Promise<void> {
  if ((await missingPostgresMigrations(pool, part, migrations)).length === 0) return;
  await inPostgresTransaction(pool, "a migration", async (client) => {
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
  });
}
