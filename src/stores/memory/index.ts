// What `tidegate/stores/memory` exports: names only.

export { createMemoryLedger, type MemoryLedgerOptions } from "./ledger.ts";
export { createMemoryObjects } from "./objects.ts";
export { createMemoryOutbox } from "./outbox.ts";
