// What the table sink exports: names only.

export { type DatabaseAddress, databaseAddress } from "./database.ts";
export { EFFECT_BYTES_MAX, EFFECT_ROWS_MAX } from "./plan.ts";
export { createIdempotentTableSink, createTableSink } from "./table-sink.ts";
