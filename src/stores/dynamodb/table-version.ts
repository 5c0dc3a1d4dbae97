// Table version: the version of the ledger or outbox in a table, stored in one of its items.
//   V1. Nothing is migrated: a table of another version, older or newer, is rejected and left
//       unchanged.

import type { CreateTableCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateTableCommand,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { otherVersion } from "../../ledger/schema-version.ts";
import { type DynamoItem, nameOf } from "./faults.ts";

export interface Part {
  readonly name: "ledger" | "outbox";
  /** The supported version. */
  readonly version: number;
  /** The key of the item with the table's version. */
  readonly metaKey: DynamoItem;
}

const TABLE_WAIT_S = 120;

/** What is stored with the version. */
export interface StoredVersion {
  /** Whether the table was created for listing. */
  readonly listing: boolean;
}

/** The part in this table; null if table or part is missing (V1). */
export async function readVersion(
  client: DynamoDBClient,
  TableName: string,
  { name, version: supported, metaKey: Key }: Part,
): Promise<StoredVersion | null> {
  const item = await client
    .send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
    .then(({ Item }) => Item)
    .catch((error: unknown) => {
      if (nameOf(error) === "ResourceNotFoundException") return undefined;
      throw error;
    });
  const version = Number(item?.version?.N ?? 0);
  if (version === 0) return null;
  if (version !== supported) throw otherVersion(name, version, supported);
  return { listing: item?.listing?.BOOL === true };
}

export async function writeVersion(
  client: DynamoDBClient,
  TableName: string,
  { version, metaKey }: Part,
  { listing }: StoredVersion = { listing: false },
): Promise<void> {
  const Item = { ...metaKey, version: { N: String(version) }, listing: { BOOL: listing } };
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
