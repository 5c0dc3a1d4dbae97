// Table sink: rows in tables of SQLite or PostgreSQL.
//   A1. In the ledger's database the statements are part of the ledger's commit (K1 of the port):
//       the sink plans them and never runs them.
//   A2. In a separate database the same statements are one transaction of the sink. Run again with
//       the same or a higher fence, they produce the same rows. Conditions in the statements reject
//       a lower fence (M1, M3 of statements.ts).

import { TidegateError } from "../../core/errors.ts";
import { sinkParams } from "../../core/sink-write.ts";
import { type TableSinkSpec, tableProblems } from "../../core/table-spec.ts";
import type { IdempotentSink, TransactionalSink } from "../../ports/sink.ts";
import { type DatabaseAddress, databaseAddress, type SinkDatabase } from "./database.ts";
import { type Dialect, POSTGRES, SQLITE } from "./dialect.ts";
import { createPlan } from "./plan.ts";

const DIALECTS: Readonly<Record<DatabaseAddress["dialect"], Dialect>> = {
  sqlite: SQLITE,
  postgres: POSTGRES,
};

/** Tables in the ledger's database, at the address `database` (A1). */
export function createTableSink(spec: TableSinkSpec, database: DatabaseAddress): TransactionalSink {
  checkSpec(spec);
  return {
    mode: "transactional",
    dialect: database.dialect,
    async prepare() {
      const opened = await openDatabase(database);
      try {
        await opened.prepare(spec.tables);
      } finally {
        await opened.close();
      }
    },
    plan: createPlan(spec, DIALECTS[database.dialect]),
    async close() {},
  };
}

/** Tables in a separate database, `spec.database`, with any ledger (A2). */
export function createIdempotentTableSink(spec: TableSinkSpec): IdempotentSink {
  checkSpec(spec);
  if (spec.database === null) {
    const message =
      "tables outside the ledger's database need a separate one: tables(..., { database })";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const address = databaseAddress(spec.database);
  const plan = createPlan(spec, DIALECTS[address.dialect]);
  let opening: Promise<SinkDatabase> | null = null;
  let closed = false;

  /**
   * The one connection or pool. A failure to open it rejects this call; the next call tries again.
   */
  async function open(): Promise<SinkDatabase> {
    if (closed) throw new TidegateError("TG_CLOSED", "the sink is closed");
    opening ??= openDatabase(address);
    try {
      return await opening;
    } catch (error) {
      opening = null;
      throw error;
    }
  }

  return {
    mode: "idempotent",
    async prepare() {
      await (await open()).prepare(spec.tables);
    },
    async apply(effects, origin, signal) {
      const writes = plan(effects, origin).map((write) => {
        return { statement: write.statement, params: sinkParams(write, origin.fence) };
      });
      if (writes.length > 0) await (await open()).transact(writes, signal);
    },
    async close() {
      closed = true;
      await opening?.then(
        (database) => database.close(),
        () => {},
      );
    },
  };
}

function checkSpec(spec: TableSinkSpec): void {
  const problems = tableProblems(spec);
  if (problems.length === 0) return;
  const message = `invalid sink tables: ${problems.join("; ")}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** Loads only the driver that is needed. */
async function openDatabase(address: DatabaseAddress): Promise<SinkDatabase> {
  if (address.dialect === "sqlite") {
    return (await import("./sqlite-database.ts")).openSqliteDatabase(address.path);
  }
  return (await import("./postgres-database.ts")).openPostgresDatabase(address.url);
}
