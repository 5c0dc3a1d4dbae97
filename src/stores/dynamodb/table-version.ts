// Table version: the version of the ledger or outbox in a table, stored in one of its items.
//   V1. A table of a newer version is rejected with TG_STORE_NEWER and left unchanged.

import type { CreateTableCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateTableCommand,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { type DynamoItem, nameOf } from "./faults.ts";

export interface Part {
  readonly name: "ledger" | "outbox";
  /** The newest supported version. */
  readonly version: number;
  /** The key of the item with the table's version. */
  readonly metaKey: DynamoItem;
}

const TABLE_WAIT_S = 120;

/** The version of a part in this table; 0 if table or part is missing (V1). */
export async function readVersion(
  client: DynamoDBClient,
  TableName: string,
  { name, version: supported, metaKey: Key }: Part,
): Promise<number> {
  const version = await client
    .send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
    .then(({ Item }) => Number(Item?.version?.N ?? 0))
    .catch((error: unknown) => {
      if (nameOf(error) === "ResourceNotFoundException") return 0;
      throw error;
    });
  if (version > supported) {
    const message = `the ${name} has schema ${version}; this release supports up to ${supported}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return version;
}

export async function writeVersion(
  client: DynamoDBClient,
  TableName: string,
  { version, metaKey }: Part,
): Promise<void> {
  const Item = { ...metaKey, version: { N: String(version) } };
  await client.send(new PutItemCommand({ TableName, Item }));
}

/** Creates a table unless it exists; safe when several processes start at once. */
export async function makeTable(
  client: DynamoDBClient,
  wanted: CreateTableCommandInput,
): Promise<void> {
  try {
    await client.send(new CreateTableCommand(wanted));
  } catch (error) {
    if (nameOf(error) !== "ResourceInUseException") throw error; // It exists, or is being created.
  }
  const { TableName } = wanted;
  await waitUntilTableExists({ client, maxWaitTime: TABLE_WAIT_S }, { TableName });
}
