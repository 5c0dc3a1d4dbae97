// PostgreSQL writes: runs the writes of a sink (core/sink-write.ts) on a connection inside a
// transaction. Stores and sinks share it, so it knows the driver by its methods only.
//   C1. COPY uses the driver's own messages: a query object that answers the server's request for
//       data. The server answers the whole text at once.
//   C2. A write that may take long gets its own time limits, which end with the transaction.
//   C3. An insert that meets a unique index is undone alone, and the writes for that case run.

import { type RunStatement, runSinkWritesAsync, type SinkWrite } from "../../../core/sink-write.ts";
import { type DurationMs, hours } from "../../../core/units.ts";
import { SQL_UNIQUE, sqlState } from "./sql-state.ts";

/** The part of a connection that writes need. */
export interface SqlConnection {
  // biome-ignore lint/suspicious/noExplicitAny: the driver overloads it with many types.
  query(config: any): any;
}

/** For writes that merge or remove a whole load (C2). */
export const LONG_WRITE_MS_MAX: DurationMs = hours(2);
/** Statements that stay prepared, per connection. */
const STATEMENTS_MAX = 256;

/** Names of prepared statements; beyond the limit they get no name. */
export function createStatementNames(): (statement: string) => string | undefined {
  const names = new Map<string, string>();
  return (statement) => {
    const existing = names.get(statement);
    if (existing !== undefined || names.size >= STATEMENTS_MAX) return existing;
    const name = `tidegate_sink_${names.size + 1}`;
    names.set(statement, name);
    return name;
  };
}

export async function runPostgresWrites(
  connection: SqlConnection,
  writes: readonly SinkWrite[],
  fence: number,
  nameOf: (statement: string) => string | undefined,
): Promise<void> {
  let long = false;
  const run: RunStatement<Promise<boolean>> = async (write, params) => {
    if (write.copy !== undefined) return await copyText(connection, write.statement, write.copy);
    if (write.long === true && !long) {
      long = true;
      await connection.query(`SET LOCAL statement_timeout = ${LONG_WRITE_MS_MAX}`); // C2
    }
    const query = {
      text: write.statement,
      values: params,
      ...(write.once !== true && { name: nameOf(write.statement) }),
      ...(write.long === true && { query_timeout: LONG_WRITE_MS_MAX }),
    };
    if (write.ifConflict === undefined) return (await connection.query(query)).rows.length > 0;
    if (await unlessConflict(connection, query)) return false;
    await runPostgresWrites(connection, write.ifConflict, fence, nameOf); // C3
    return false;
  };
  await runSinkWritesAsync(writes, fence, run);
}

/** Whether the statement ran; false if it met a unique index, and left nothing behind. */
async function unlessConflict(connection: SqlConnection, query: object): Promise<boolean> {
  await connection.query("SAVEPOINT tidegate_insert");
  try {
    await connection.query(query);
  } catch (error) {
    if (sqlState(error) !== SQL_UNIQUE) throw error;
    await connection.query("ROLLBACK TO SAVEPOINT tidegate_insert");
    return false;
  }
  await connection.query("RELEASE SAVEPOINT tidegate_insert");
  return true;
}

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** C1 */
function copyText(connection: SqlConnection, statement: string, text: string): Promise<false> {
  return new Promise((resolve, reject) => {
    let failure: unknown = null;
    const query = {
      // The driver replaces it to clear its timer.
      callback: (error: unknown) => (error ? reject(error) : resolve(false)),
      submit: (wire: CopyConnection) => wire.query(statement),
      handleCopyInResponse(wire: CopyConnection) {
        wire.sendCopyFromChunk(Buffer.from(text));
        wire.endCopyFrom();
      },
      handleCommandComplete() {},
      handleRowDescription() {},
      handleDataRow() {},
      handleEmptyQuery() {},
      handlePortalSuspended() {},
      handleError(error: unknown) {
        failure ??= error;
        query.callback(error);
      },
      handleReadyForQuery() {
        if (failure === null) query.callback(null);
      },
    };
    connection.query(query);
  });
}
