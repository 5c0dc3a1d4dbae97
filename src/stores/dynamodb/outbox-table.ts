// The outbox's table, separate from the ledger's: rows by target and key. Beside them it lists
// pending and unsettled rows, per target in order of registration, for consistent reads.

import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";

export function outboxTable(table: string): CreateTableCommandInput {
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
  };
}
