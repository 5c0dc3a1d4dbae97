// Upgrade tables: brings a ledger or an outbox in a PostgreSQL database to the schema of this
// release (decision record 0032).
//   U1. A step is one transaction, with its number, under the lock of all schema changes. What runs
//       is the text that an administrator gets for running it, and running it twice does nothing.
//   U2. A step waits for a lock for less than a second, and then tries again: statements that queue
//       behind it wait no longer.
//   U3. A step that raises `writersFrom` first locks the table of the limits. Every write reads it
//       (sql/schema-fence.ts), so this waits for those that run, and those that follow see the new
//       limits.

import type { Pool, PoolClient } from "pg";
import { durationMs } from "../../core/units.ts";
import {
  judgeSchema,
  pendingSteps,
  type SchemaStep,
  type SchemaUpgrade,
} from "../../ledger/schema-version.ts";
import { postgresLedgerFault } from "./faults.ts";
import { openDatabase } from "./open-database.ts";
import {
  POSTGRES_LEDGER,
  POSTGRES_OUTBOX,
  type PostgresSchema,
  SCHEMA_LOCK,
  saveSchemaSql,
  schemaInDatabase,
} from "./schema.ts";
import { retryBusy } from "./sql/sql-limits.ts";
import { UPKEEP_MS_MAX } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

/** U2 */
const LIMITS = { statementMs: UPKEEP_MS_MAX, lockMs: durationMs(900) };

/** Upgrades ledger and outbox of a database; with `dryRun`, says what it would do. */
export async function upgradePostgres(
  url: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<SchemaUpgrade[]> {
  const opened = { name: "ledger", faultOf: postgresLedgerFault, url, connectionsMax: 1 };
  const { pool, guard, close } = await openDatabase(opened, async () => undefined);
  try {
    return await guard(async () => {
      const upgrades: SchemaUpgrade[] = [];
      for (const schema of [POSTGRES_LEDGER, POSTGRES_OUTBOX]) {
        const upgrade = await upgradePart(pool, schema, { dryRun });
        if (upgrade !== null) upgrades.push(upgrade);
      }
      return upgrades;
    });
  } finally {
    await close();
  }
}

/** Null if the part is of this schema or missing. */
export async function upgradePart(
  pool: Pool,
  schema: PostgresSchema,
  { dryRun }: { readonly dryRun: boolean },
): Promise<SchemaUpgrade | null> {
  const stored = await schemaInDatabase(pool, schema.part);
  if (stored === null || judgeSchema(stored, schema, "write") !== "outdated") return null;
  const { part, version: to } = schema;
  const steps = pendingSteps(schema.steps, stored.version);
  const sql = steps.map((step) => `BEGIN;\n${stepSql(schema, step)}\nCOMMIT;`);
  if (!dryRun) for (const step of steps) await runStep(pool, schema, step);
  return { part, from: stored.version, to, sql };
}

/** U1 */
function stepSql({ part, oldest, steps }: PostgresSchema, step: SchemaStep): string {
  const { to, sql, ...limits } = step;
  const before = steps.find((other) => other.to === to - 1)?.writersFrom ?? oldest;
  const lock =
    step.writersFrom > before ? "LOCK TABLE tidegate_schema_limits IN ACCESS EXCLUSIVE MODE;" : ""; // U3
  const statements = [
    `SELECT pg_advisory_xact_lock(${SCHEMA_LOCK});`,
    lock,
    sql.trim(),
    saveSchemaSql(part, { version: to, ...limits }),
  ];
  return statements.filter((text) => text !== "").join("\n");
}

async function runStep(pool: Pool, schema: PostgresSchema, step: SchemaStep): Promise<void> {
  const work = async (client: PoolClient) => void (await client.query(stepSql(schema, step)));
  await retryBusy(() => inPostgresTransaction(pool, "schema", work, LIMITS));
}
