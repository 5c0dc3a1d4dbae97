// What `tidegate/stores/dynamodb` exports: names only.

export { createDynamoLedger, type DynamoLedgerOptions } from "./ledger.ts";
export { createDynamoOutbox, type DynamoOutboxOptions } from "./outbox.ts";
