// Get items: consistent reads of many items by key.

import { BatchGetItemCommand } from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import type { DynamoItem } from "./faults.ts";
import type { LedgerTable } from "./record-writes.ts";

/** The limit of DynamoDB. */
export const BATCH_GET_MAX = 100;

/** The items of these keys, by key; missing items are omitted. */
export async function getItems(
  { client, table }: Pick<LedgerTable, "client" | "table">,
  pks: readonly string[],
): Promise<Map<string, DynamoItem>> {
  const items = new Map<string, DynamoItem>();
  let unread: DynamoItem[] = pks.map((pk) => ({ pk: { S: pk } }));
  // Every response has at least one item, or the SDK waited and threw an error.
  for (let tries = 0; unread.length > 0 && tries < BATCH_GET_MAX; tries += 1) {
    const RequestItems = { [table]: { Keys: unread, ConsistentRead: true } };
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetItemCommand({ RequestItems }),
    );
    for (const item of Responses?.[table] ?? []) items.set(item.pk?.S ?? "", item);
    unread = UnprocessedKeys?.[table]?.Keys ?? [];
  }
  if (unread.length === 0) return items;
  const message = `the table ${table} returned no answer for ${unread.length} items`;
  throw new TidegateError("TG_LEDGER_UNAVAILABLE", message);
}
