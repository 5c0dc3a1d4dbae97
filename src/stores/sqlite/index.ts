// What `tidegate/stores/sqlite` exports: names only.

export { createSqliteLedger, type SqliteLedgerOptions } from "./ledger.ts";
export { createSqliteOutbox, type SqliteOutboxOptions } from "./outbox.ts";
