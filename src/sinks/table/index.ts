// What the table sink exports: names only.

export { type DatabaseAddress, databaseAddress } from "./databases/database.ts";
export { createTableEffects } from "./list-effects.ts";
export { type LedgerDatabase, openTableShadow } from "./shadow/open-shadow.ts";
export { createIdempotentTableSink, createTableSink, sweepDatabaseStages } from "./table-sink.ts";
