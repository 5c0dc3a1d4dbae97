// Table sink: rows in tables of SQLite or PostgreSQL.
//   A1. In the ledger's database the statements are part of the ledger's commit (K1 of the port):
//       the sink plans them and never runs them.
//   A2. In a separate database the same statements are one transaction of the sink. Run again with
//       the same or a higher fence, they produce the same rows. Conditions in the statements reject
//       a lower fence (M1, M3 of statements.ts).

import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import { type TableSinkSpec, tableProblems } from "../../core/table-spec.ts";
import type { EpochMs } from "../../core/units.ts";
import type { IdempotentSink, SinkStore, TransactionalSink } from "../../ports/sink.ts";
import { type DatabaseAddress, databaseAddress, type SinkDatabase } from "./databases/database.ts";
import { type Dialect, POSTGRES, SQLITE } from "./databases/dialect.ts";
import { createPlans, type TablePlans } from "./plan.ts";
import { createTableStage } from "./stage.ts";
import { sweepTableStages } from "./stage-removal.ts";

const DIALECTS: Readonly<Record<DatabaseAddress["dialect"], Dialect>> = {
  sqlite: SQLITE,
  postgres: POSTGRES,
};

/** Tables in the ledger's database, at the address `database` (A1). */
export function createTableSink(spec: TableSinkSpec, database: DatabaseAddress): TransactionalSink {
  checkSpec(spec);
  const dialect = DIALECTS[database.dialect];
  const plans = createPlanHolder(spec, dialect);
  return {
    mode: "transactional",
    dialect: database.dialect,
    async prepare() {
      const opened = await openSinkDatabase(database);
      try {
        plans.fill(await opened.prepare(spec.tables));
      } finally {
        await opened.close();
      }
    },
    plan: (effects, origin) => plans.get().plan(effects, origin),
    stage: (request, store) => ({
      mode: "transactional",
      ...createTableStage(dialect, plans.get(), store, request),
    }),
    sweepStages: (store, now) => sweepTableStages(dialect, store, now),
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
  const dialect = DIALECTS[address.dialect];
  const plans = createPlanHolder(spec, dialect);
  let opening: Promise<SinkDatabase> | null = null;
  let closed = false;

  /**
   * The one connection or pool. A failure to open it rejects this call; the next call tries again.
   */
  async function open(): Promise<SinkDatabase> {
    if (closed) throw new TidegateError("TG_CLOSED", "the sink is closed");
    opening ??= openSinkDatabase(address);
    try {
      return await opening;
    } catch (error) {
      opening = null;
      throw error;
    }
  }

  const store: SinkStore = {
    run: async (writes) => (await open()).transact(writes, new AbortController().signal),
    read: async (write) => (await open()).read(write),
  };
  return {
    mode: "idempotent",
    async prepare() {
      plans.fill(await (await open()).prepare(spec.tables));
    },
    async apply(effects, origin, signal) {
      const writes = plans.get().plan(effects, origin);
      if (writes.length > 0) await (await open()).transact(writes, signal, origin.fence);
    },
    stage(request) {
      const { merge, ...stage } = createTableStage(dialect, plans.get(), store, request);
      return {
        mode: "idempotent",
        ...stage,
        async apply(origin, signal) {
          await (await open()).transact(merge(origin), signal, origin.fence);
        },
      };
    },
    sweepStages: (now) => sweepTableStages(dialect, store, now),
    async close() {
      closed = true;
      await opening?.then(
        (database) => database.close(),
        () => {},
      );
    },
  };
}

/** Sweeps a database that may have no stages; returns how many attempts were removed. */
export function sweepDatabaseStages(
  dialect: DatabaseAddress["dialect"],
  store: SinkStore,
  now: EpochMs,
): Promise<number> {
  return sweepTableStages(DIALECTS[dialect], store, now);
}

/** The plans exist once the database is prepared: existing tables define their own columns. */
function createPlanHolder(spec: TableSinkSpec, dialect: Dialect) {
  let plans: TablePlans | null = null;
  return {
    fill(shapes: TablePlans["shapes"]) {
      plans = createPlans(spec, dialect, shapes);
    },
    get: () => present(plans, "the plans of a prepared sink"),
  };
}

function checkSpec(spec: TableSinkSpec): void {
  const problems = tableProblems(spec);
  if (problems.length === 0) return;
  const message = `invalid sink tables: ${problems.join("; ")}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** Loads only the driver that is needed. */
export async function openSinkDatabase(address: DatabaseAddress): Promise<SinkDatabase> {
  if (address.dialect === "sqlite") {
    return (await import("./databases/sqlite-database.ts")).openSqliteDatabase(address.path);
  }
  return (await import("./databases/postgres-database.ts")).openPostgresDatabase(address.url);
}
