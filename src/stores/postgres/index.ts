// What `tidegate/stores/postgres` exports: names only.

export { createPostgresLedger, type PostgresLedgerOptions } from "./ledger.ts";
export { createPostgresOutbox, type PostgresOutboxOptions } from "./outbox.ts";
