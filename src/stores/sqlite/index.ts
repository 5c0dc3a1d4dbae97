// What `tidegate/stores/sqlite` exports: names only.

export { createSqliteLedger, type SqliteLedgerOptions } from "./ledger/ledger.ts";
export { createSqliteOutbox, type SqliteOutboxOptions } from "./ledger/outbox.ts";
