// `tidegate/stores/sqlite`: ledger and outbox in a SQLite file.

import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import * as ledger from "../../stores/sqlite/ledger/ledger.ts";
import * as outbox from "../../stores/sqlite/ledger/outbox.ts";
import { type PlainOptions, type SystemPorts, withSystemDefaults } from "../system-defaults.ts";

export type { Ledger, Outbox };

/** Options of `createSqliteLedger`; clock and turn have defaults. */
export type SqliteLedgerOptions = PlainOptions<Omit<ledger.SqliteLedgerOptions, "tailLimits">> &
  Pick<SystemPorts, "clock" | "turn">;
/** Options of `createSqliteOutbox`; the clock has a default. */
export type SqliteOutboxOptions = PlainOptions<outbox.SqliteOutboxOptions> &
  Pick<SystemPorts, "clock">;

/** Opens the ledger in a SQLite file and creates the file if it is missing. */
export function createSqliteLedger(options: SqliteLedgerOptions): Ledger {
  return ledger.createSqliteLedger(
    withSystemDefaults(options),
    options as ledger.SqliteLedgerOptions,
  );
}

/** Opens the outbox in a SQLite file and creates the file if it is missing. */
export function createSqliteOutbox(options: SqliteOutboxOptions): Outbox {
  return outbox.createSqliteOutbox(
    withSystemDefaults(options),
    options as outbox.SqliteOutboxOptions,
  );
}
