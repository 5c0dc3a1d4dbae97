// Outbox upkeep: counts and purges a DynamoDB outbox. Both read the whole table, so use them
// rarely.

import { DeleteItemCommand, paginateScan } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import type { EpochMs } from "../../core/units.ts";
import { countRows } from "../../ledger/outbox/outbox-stats.ts";
import { isPurgeable } from "../../ledger/outbox/outbox-transitions.ts";
import type { OutboxStats } from "../../ports/outbox.ts";
import { conflictsIn, type DynamoItem } from "./faults.ts";
import { fromItem, type OutboxTable, replaceRow, type VersionedRow } from "./outbox-items.ts";
import type { TableTime } from "./table-time.ts";

export interface OutboxUpkeepParts {
  readonly outbox: OutboxTable;
  readonly marks: TableTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

const ROW_PREFIX = "row#";
/** Batches, and their items in both parts (batch-items.ts). */
const BATCH_PREFIX = /^(?:batch|added|done)#/;

async function scanItems({ client, table: TableName }: OutboxTable) {
  const items: DynamoItem[] = [];
  const pages = paginateScan({ client }, { TableName, ConsistentRead: true });
  for await (const { Items = [] } of pages) items.push(...Items);
  return items;
}

interface ScannedRow {
  readonly target: string;
  readonly stored: VersionedRow;
}

function rowsIn(items: readonly DynamoItem[]): ScannedRow[] {
  return items.flatMap((item) => {
    const pk = item.pk?.S ?? "";
    if (!pk.startsWith(ROW_PREFIX)) return [];
    return [{ target: pk.slice(ROW_PREFIX.length), stored: fromItem(item) }];
  });
}

/** Whether an item of a batch has expired; DynamoDB would delete it, too, in its own time. */
function isExpired({ pk, ttl }: DynamoItem, now: EpochMs): boolean {
  return BATCH_PREFIX.test(pk?.S ?? "") && Number(ttl?.N) * 1_000 <= now;
}

/** Deletes an item of a batch; false if it was written again since. */
async function deleteItem(
  { client, table: TableName }: OutboxTable,
  { pk, sk, ttl }: DynamoItem,
): Promise<boolean> {
  const command = new DeleteItemCommand({
    TableName,
    Key: { pk: present(pk, "a partition"), sk: present(sk, "a sort key") },
    ConditionExpression: "#ttl = :read",
    ExpressionAttributeNames: { "#ttl": "ttl" },
    ExpressionAttributeValues: { ":read": present(ttl, "a time to live") },
  });
  try {
    await client.send(command);
    return true;
  } catch (error) {
    if (conflictsIn(error) === null) throw error;
    return false;
  }
}

export function createOutboxUpkeep({ outbox, marks, guard }: OutboxUpkeepParts) {
  return {
    stats: (target: string): Promise<OutboxStats> =>
      guard(async () => {
        const rows = rowsIn(await scanItems(outbox));
        const targetRows = rows.filter((row) => row.target === target);
        return countRows(targetRows.flatMap(({ stored }) => stored.row ?? []));
      }),
    expiresRows: true as const, // By time to live.
    purge: (limit: number, sentBefore: EpochMs | null = null): Promise<number> =>
      guard(async () => {
        const { expiry: now } = await marks.readToWrite();
        const times = { now, sentBefore: marks.time.toStore(sentBefore) };
        const items = await scanItems(outbox);
        const rows = rowsIn(items).filter(
          ({ stored: { row } }) => row !== undefined && isPurgeable(row, times),
        );
        const deletions = [
          ...rows.map(
            ({ target, stored }) =>
              () =>
                replaceRow(outbox, target, stored, null),
          ),
          ...items
            .filter((item) => isExpired(item, now))
            .map((item) => () => deleteItem(outbox, item)),
        ];
        const deleted = await Promise.all(deletions.slice(0, limit).map((run) => run()));
        return deleted.filter((done) => done).length;
      }),
    leap: () => marks.time.leap(),
  };
}
