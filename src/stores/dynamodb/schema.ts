// Schema: creates the ledger's table.
//   M1. DynamoDB's time to live only frees space, and expired items may stay readable for days.
//       Every condition therefore checks `exp` itself.
//   M2. Whether the table keeps lists is decided when it is created and stored with its version.
//       Every writer follows it, whatever its own options say.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { nameOf } from "./faults.ts";
import { LIST_INDEXES, ledgerTable } from "./ledger-table.ts";
import {
  makeTable,
  type Part,
  readVersion,
  type StoredVersion,
  writeVersion,
} from "./table-version.ts";

export const LEDGER: Part = {
  part: "ledger",
  version: 5,
  oldest: 4,
  metaKey: { pk: { S: "meta#ledger" } },
  steps: [{ to: 5, readersFrom: 4, writersFrom: 4 }],
};

/** The ledger of a table, or null if it has none; throws if it has another version. */
export async function findSchema(
  client: DynamoDBClient,
  table: string,
): Promise<StoredVersion | null> {
  return await readVersion(client, table, LEDGER);
}

/** Creates what is missing; safe when several processes start at once. */
export async function createDynamoTable(
  client: DynamoDBClient,
  table: string,
  wanted: { readonly listing: boolean },
): Promise<StoredVersion> {
  const existing = await findSchema(client, table);
  if (existing !== null) return existing;
  await makeTable(client, ledgerTable(table, wanted));
  await enableExpiry(client, table);
  const listing = await hasLists(client, table); // M2: another process may have created it.
  await writeVersion(client, table, LEDGER, { listing });
  return { listing };
}

/** The error for a list of a table without lists. */
export function listingOff(table: string): TidegateError {
  const message = `the table ${table} was created without lists; it cannot list records`;
  return new TidegateError("TG_LISTING_OFF", message);
}

async function hasLists(client: DynamoDBClient, table: string): Promise<boolean> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
  const names = Table?.GlobalSecondaryIndexes?.map(({ IndexName }) => IndexName) ?? [];
  return names.includes(LIST_INDEXES["event-time"]);
}

/** Switches on the deletion of expired items, by their attribute `ttl`. */
export async function enableExpiry(client: DynamoDBClient, table: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(
    new DescribeTimeToLiveCommand({ TableName: table }),
  );
  const status = TimeToLiveDescription?.TimeToLiveStatus;
  if (status === "ENABLED" || status === "ENABLING") return;
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true };
  try {
    await client.send(new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification }));
  } catch (error) {
    if (nameOf(error) !== "ValidationException") throw error; // Another process has just done it.
  }
}
