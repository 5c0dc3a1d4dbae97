// Schema: creates the ledger's table and its index.
//   M1. DynamoDB's time to live only frees space, and expired items may stay readable for days.
//       Every condition therefore checks `exp` itself.

import type { CreateTableCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { nameOf } from "./faults.ts";
import { dynamoLedger0001 } from "./migrations/0001-ledger.ts";
import {
  dynamoLedger0002,
  NOTE_INDEX,
  noteAttributes,
  noteIndex,
} from "./migrations/0002-notes.ts";
import { makeTable, type Part, readVersion, writeVersion } from "./table-version.ts";

export const LEDGER: Part = { name: "ledger", version: 2, metaKey: { pk: { S: "meta#ledger" } } };
/** DynamoDB takes minutes to build an index over a table with many items. */
const INDEX_PAUSE_MS = 1_000;
const INDEX_PAUSES_MAX = 900;

/** Whether the table has this version; throws if it has a newer one. */
export async function checkSchema(client: DynamoDBClient, table: string): Promise<boolean> {
  return (await readVersion(client, table, LEDGER)) === LEDGER.version;
}

/** Creates what is missing; safe when several processes start at once. */
export async function migrateDynamoLedger(client: DynamoDBClient, table: string): Promise<void> {
  const version = await readVersion(client, table, LEDGER);
  if (version === LEDGER.version) return;
  if (version === 0) await makeTable(client, wholeTable(table));
  await makeIndex(client, table);
  await enableExpiry(client, table);
  await writeVersion(client, table, LEDGER);
}

/** A new table gets the index of the second migration immediately, which saves waiting for it. */
function wholeTable(table: string): CreateTableCommandInput {
  const { AttributeDefinitions = [], ...first } = dynamoLedger0001(table);
  return {
    ...first,
    AttributeDefinitions: [...AttributeDefinitions, ...noteAttributes],
    GlobalSecondaryIndexes: [noteIndex],
  };
}

async function indexStatus(client: DynamoDBClient, table: string): Promise<string> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
  const index = Table?.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === NOTE_INDEX);
  return index === undefined ? "absent" : (index.IndexStatus ?? "unknown");
}

/** Upgrades a table from version 1 to 2; the ledger can be used in the meantime. */
async function makeIndex(client: DynamoDBClient, table: string): Promise<void> {
  for (let pauses = 0; pauses < INDEX_PAUSES_MAX; pauses += 1) {
    const status = await indexStatus(client, table);
    if (status === "ACTIVE") return;
    if (status === "absent") await requestIndex(client, table);
    await new Promise((resolve) => setTimeout(resolve, INDEX_PAUSE_MS));
  }
  const message = `the index ${NOTE_INDEX} of the table ${table} is still being built`;
  throw new TidegateError("TG_LEDGER_UNAVAILABLE", message);
}

async function requestIndex(client: DynamoDBClient, table: string): Promise<void> {
  try {
    await client.send(new UpdateTableCommand(dynamoLedger0002(table)));
  } catch (error) {
    // Another change of the table is in progress, perhaps the same index from another process.
    if (nameOf(error) === "ResourceInUseException") return;
    if ((await indexStatus(client, table)) === "absent") throw error;
  }
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
    if (nameOf(error) !== "ValidationException") throw error; // Another process has just done it.
  }
}
