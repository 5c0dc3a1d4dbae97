// Live keys: reads which of many records exist, one request per hundred records.
//   K1. The read is consistent and has only the attributes that decide, so it costs half the price
//       of a write at most, whatever the size of the item.
//   K2. Keys that DynamoDB leaves unprocessed are read one by one; the SDK retries those requests.

import { BatchGetItemCommand } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import type { EpochMs } from "../../core/units.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { inParallel } from "./in-parallel.ts";
import { recordPk } from "./record-items.ts";
import { getItem, type LedgerTable } from "./record-writes.ts";

/** The limit of BatchGetItem. */
const KEYS_PER_REQUEST_MAX = 100;

/** Those of `keys` that have a record that has not expired. */
export async function findLiveKeys(
  table: Pick<LedgerTable, "client" | "table">,
  scope: LedgerScope,
  keys: readonly RecordKey[],
  now: EpochMs,
): Promise<ReadonlySet<string>> {
  const keyOf = new Map(keys.map((key) => [recordPk(scope, key), key]));
  const names = [...keyOf.keys()];
  const batches: string[][] = [];
  while (names.length > 0) batches.push(names.splice(0, KEYS_PER_REQUEST_MAX));
  const live = new Set<string>();
  const add = ({ pk, exp }: DynamoItem) => {
    if (Number(exp?.N) > now) live.add(present(keyOf.get(pk?.S ?? ""), "a key that was asked for"));
  };
  await inParallel(batches, async (batch) => {
    const { items, unprocessed } = await readBatch(table, batch);
    for (const item of items) add(item);
    await inParallel(unprocessed, async (pk) => {
      const item = await getItem(table, pk); // K2
      if (item !== undefined) add(item);
    });
  });
  return live;
}

async function readBatch(
  { client, table }: Pick<LedgerTable, "client" | "table">,
  batch: readonly string[],
): Promise<{ items: readonly DynamoItem[]; unprocessed: readonly string[] }> {
  const command = new BatchGetItemCommand({
    RequestItems: {
      [table]: {
        Keys: batch.map((pk) => ({ pk: { S: pk } })),
        ConsistentRead: true, // K1
        ProjectionExpression: "pk, #exp",
        ExpressionAttributeNames: { "#exp": "exp" },
      },
    },
  });
  const { Responses = {}, UnprocessedKeys = {} } = await client.send(command);
  const unprocessed = (UnprocessedKeys[table]?.Keys ?? []).map(({ pk }) => pk?.S ?? "");
  return { items: Responses[table] ?? [], unprocessed };
}
