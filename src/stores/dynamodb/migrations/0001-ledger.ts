// The ledger's table: one partition key and nothing else, paid per request. Records, objects and
// the schema's version are items of it, told apart by the first letters of their key.

import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";

export function dynamoLedger0001(table: string): CreateTableCommandInput {
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  };
}
