// Outbox schema: makes the outbox's table and knows its version. A newer one is refused with
// TG_STORE_NEWER and left as it is.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateTableCommand,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { nameOf } from "./faults.ts";
import { outbox0001 } from "./migrations/0001-outbox.ts";

const OUTBOX_VERSION = 1;
const META = { pk: { S: "meta#outbox" }, sk: { S: "meta" } };
const TABLE_WAIT_S = 120;
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/;

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

/** Makes what is missing; safe when several processes start at once. */
export async function migrateOutbox(client: DynamoDBClient, table: string): Promise<void> {
  if (!TABLE_NAME.test(table)) {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(table)} names no table`);
  }
  const version = await schemaVersion(client, table);
  if (version > OUTBOX_VERSION) {
    const message = `the outbox has schema ${version}; this version knows ${OUTBOX_VERSION}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  if (version === OUTBOX_VERSION) return;
  try {
    await client.send(new CreateTableCommand(outbox0001(table)));
  } catch (error) {
    if (nameOf(error) !== "ResourceInUseException") throw error; // It exists, or is being made.
  }
  await waitUntilTableExists({ client, maxWaitTime: TABLE_WAIT_S }, { TableName: table });
  const Item = { ...META, version: { N: String(OUTBOX_VERSION) } };
  await client.send(new PutItemCommand({ TableName: table, Item }));
}
