// Sink store: runs the writes of a sink outside of a record's commit, in the ledger's database.

import { hasLongWrite, sinkParams } from "../../core/sink-write.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { postgresSinkFault } from "./faults.ts";
import type { LedgerTables } from "./record-rows.ts";
import { LONG_WRITE_MS_MAX, runPostgresWrites } from "./sql/sink-writes.ts";
import { patientLimits } from "./sql/sql-limits.ts";
import { limitsOf } from "./time-limits.ts";
import { inPostgresTransaction } from "./transaction.ts";

type Guard = <T>(work: () => Promise<T>) => Promise<T>;

export function createPostgresSinkStore(
  { pool, statementName }: LedgerTables,
  guard: Guard,
): SinkStore {
  const asSink = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw postgresSinkFault(error);
    }
  };
  return {
    run: (writes) =>
      guard(() => {
        const long = hasLongWrite(writes);
        const own = limitsOf(pool);
        const limits = long ? { ...own, ...patientLimits(LONG_WRITE_MS_MAX) } : own;
        return inPostgresTransaction(
          pool,
          "sink",
          (client) => asSink(() => runPostgresWrites(client, writes, 0, statementName)),
          limits,
        );
      }),
    read: (write) =>
      guard(() =>
        asSink(async () => {
          const limited = { query_timeout: LONG_WRITE_MS_MAX };
          const values = sinkParams(write, 0);
          return (await pool.query({ text: write.statement, values, ...limited })).rows;
        }),
      ),
  };
}
