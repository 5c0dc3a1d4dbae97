// The outbox's table, apart from the ledger's: rows by target and key, and beside them what is
// pending or unsettled, per target in the order of registration, to be read consistently.

import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";

export function dynamoOutbox0001(table: string): CreateTableCommandInput {
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
