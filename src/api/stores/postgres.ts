// `tidegate/stores/postgres`: ledger and outbox in a PostgreSQL database.

import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import * as ledger from "../../stores/postgres/ledger.ts";
import * as outbox from "../../stores/postgres/outbox.ts";
import { type PlainOptions, type SystemPorts, withSystemDefaults } from "../system-defaults.ts";

export type { Ledger, Outbox };

/** Options of `createPostgresLedger`; the clock has a default. */
export type PostgresLedgerOptions = PlainOptions<ledger.PostgresLedgerOptions> &
  Pick<SystemPorts, "clock">;
/** Options of `createPostgresOutbox`; the clock has a default. */
export type PostgresOutboxOptions = PlainOptions<outbox.PostgresOutboxOptions> &
  Pick<SystemPorts, "clock">;

/** Opens the ledger in a PostgreSQL database. Creates missing tables unless `create` is false. */
export function createPostgresLedger(options: PostgresLedgerOptions): Promise<Ledger> {
  return ledger.createPostgresLedger(
    withSystemDefaults(options),
    options as ledger.PostgresLedgerOptions,
  );
}

/** Opens the outbox in a PostgreSQL database and creates its table if it is missing. */
export function createPostgresOutbox(options: PostgresOutboxOptions): Promise<Outbox> {
  return outbox.createPostgresOutbox(
    withSystemDefaults(options),
    options as outbox.PostgresOutboxOptions,
  );
}
