// Schema: makes the table and knows its version.
//   M1. DynamoDB's time to live only frees space; whether an item counts is decided by `exp`, which
//       every condition looks at, as expired items may be read for days.
//   M2. A table of a newer version is refused with TG_STORE_NEWER and left as it is.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateTableCommand,
  DescribeTimeToLiveCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { nameOf } from "./faults.ts";
import { ledger0001 } from "./migrations/0001-ledger.ts";

export const LEDGER_VERSION = 1;
const META = { pk: { S: "meta#ledger" } };
const TABLE_WAIT_S = 120;

/** The version of the ledger in this table; 0 when table or ledger are missing. */
async function schemaVersion(client: DynamoDBClient, table: string): Promise<number> {
  try {
    const { Item } = await client.send(
      new GetItemCommand({ TableName: table, Key: META, ConsistentRead: true }),
    );
    return Number(Item?.version?.N ?? 0);
  } catch (error) {
    if (nameOf(error) === "ResourceNotFoundException") return 0;
    throw error;
  }
}

/** Whether the table is ready for this version; a newer one is refused (M2). */
export async function checkSchema(client: DynamoDBClient, table: string): Promise<boolean> {
  const version = await schemaVersion(client, table);
  if (version > LEDGER_VERSION) {
    const message = `the ledger has schema ${version}; this version knows ${LEDGER_VERSION}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return version === LEDGER_VERSION;
}

/** Makes what is missing; safe when several processes start at once. */
export async function migrate(client: DynamoDBClient, table: string): Promise<void> {
  if (await checkSchema(client, table)) return;
  try {
    await client.send(new CreateTableCommand(ledger0001(table)));
  } catch (error) {
    if (nameOf(error) !== "ResourceInUseException") throw error; // It exists, or is being made.
  }
  await waitUntilTableExists({ client, maxWaitTime: TABLE_WAIT_S }, { TableName: table });
  await enableExpiry(client, table);
  const Item = { ...META, version: { N: String(LEDGER_VERSION) } };
  await client.send(new PutItemCommand({ TableName: table, Item }));
}

async function enableExpiry(client: DynamoDBClient, table: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(
    new DescribeTimeToLiveCommand({ TableName: table }),
  );
  const status = TimeToLiveDescription?.TimeToLiveStatus;
  if (status === "ENABLED" || status === "ENABLING") return;
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true };
  try {
    await client.send(new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification }));
  } catch (error) {
    if (nameOf(error) !== "ValidationException") throw error; // Another process did it just now.
  }
}
