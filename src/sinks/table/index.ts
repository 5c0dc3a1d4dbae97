// What the table sink exports: names only.

export { type DatabaseAddress, databaseAddress } from "./database.ts";
export { createIdempotentTableSink, createTableSink, sweepDatabaseStages } from "./table-sink.ts";
