// The ledger's table: one partition key, billed per request. Records, objects and the schema
// version are items in it, distinguished by a key prefix.

import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";

export function dynamoLedger0001(table: string): CreateTableCommandInput {
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  };
}
