// Outbox items: a row, and its entry in one of two lists of its target.
//   I1. A pending row is in the list `pending`, a sent row that is not settled yet in `unsettled`.
//       Row and list change in one transaction, so they always agree.
//   I2. Every write of a row is on condition that its version is the one that was read.
//   I3. A version is the id of its write. A write that the SDK repeats after a lost response finds
//       its own version and knows that it succeeded, even if DynamoDB no longer knows the
//       transaction's token.
//   I4. DynamoDB deletes expired items by their `ttl`: a row and its entry in a list alike.

import type { DynamoDBClient, TransactWriteItem } from "@aws-sdk/client-dynamodb";
import {
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { utf8ByteLength } from "../../core/encoding/text.ts";
import { refuseValue } from "../../core/errors.ts";
import { DYNAMODB_ITEM_BYTES_MAX } from "../../core/limits.ts";
import type { OutboxRow } from "../../ports/outbox.ts";
import { conflictsIn, type DynamoItem } from "./faults.ts";
import { ttlOf } from "./record-items.ts";

export interface OutboxTable {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** A write id that no other write has. */
  nextWrite(): string;
}

/** A row as read, with its version; both undefined if it is missing. */
export interface VersionedRow {
  readonly row: OutboxRow | undefined;
  readonly version: string | undefined;
}

type List = "pending" | "unsettled";

/** Reserved for keys, names and the rest of an item. */
const ITEM_BYTES_SPARE = 8_192;
const SEQ_DIGITS = 16;

const rowKey = (target: string, key: string) => ({ pk: { S: `row#${target}` }, sk: { S: key } });
const seqText = (seq: number) => String(seq).padStart(SEQ_DIGITS, "0");
const listKey = (list: List, target: string, seq: number) => ({
  pk: { S: `${list}#${target}` },
  sk: { S: seqText(seq) },
});

function listOf(row: OutboxRow | undefined | null): List | null {
  if (row?.state === "pending") return "pending";
  return row?.state === "sent" && !row.done ? "unsettled" : null;
}

export function fromItem(item: DynamoItem | undefined): VersionedRow {
  if (item?.row?.S === undefined) return { row: undefined, version: undefined };
  return { row: JSON.parse(item.row.S), version: item.version?.S };
}

function toItem(table: OutboxTable, target: string, row: OutboxRow): DynamoItem {
  const text = JSON.stringify(row);
  const bytesMax = DYNAMODB_ITEM_BYTES_MAX - ITEM_BYTES_SPARE;
  if (utf8ByteLength(text) > bytesMax) {
    const message = `row is too large for an outbox on DynamoDB (at most ${bytesMax} bytes); use a claim check`;
    refuseValue(message);
  }
  const item: DynamoItem = { ...rowKey(target, row.key), row: { S: text } };
  item.version = { S: table.nextWrite() };
  item.state = { S: row.state };
  if (row.expiresAt !== null) item.ttl = ttlOf(row.expiresAt);
  return item;
}

export async function readRow(
  { client, table }: OutboxTable,
  target: string,
  key: string,
): Promise<VersionedRow> {
  const Key = rowKey(target, key);
  const read = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  return fromItem((await client.send(read)).Item);
}

/** Keys in a list after a seq, oldest first. */
export async function readList(
  { client, table }: OutboxTable,
  list: List,
  target: string,
  page: { readonly afterSeq: number; readonly limit: number },
): Promise<{ readonly key: string; readonly seq: number }[]> {
  const query = new QueryCommand({
    TableName: table,
    ConsistentRead: true,
    KeyConditionExpression: "pk = :pk AND sk > :sk",
    ExpressionAttributeValues: {
      ":pk": { S: `${list}#${target}` },
      ":sk": { S: seqText(page.afterSeq) },
    },
    Limit: page.limit,
  });
  const { Items = [] } = await client.send(query);
  return Items.map(({ key, sk }) => ({ key: key?.S ?? "", seq: Number(sk?.S) }));
}

/** Replaces `stored` by `row`, or deletes it if null; false if another writer came first (I2). */
export async function replaceRow(
  table: OutboxTable,
  target: string,
  stored: VersionedRow,
  row: OutboxRow | null,
): Promise<boolean> {
  const TableName = table.table;
  const condition = { TableName, ...unlessChanged(stored) };
  const lists = listChanges(TableName, target, stored.row, row);
  const Item = row === null ? null : toItem(table, target, row);
  try {
    if (Item !== null && lists.length === 0) {
      await table.client.send(new PutItemCommand({ Item, ...condition }));
      return true;
    }
    const Key = rowKey(target, stored.row?.key ?? "");
    const change: TransactWriteItem =
      Item === null ? { Delete: { Key, ...condition } } : { Put: { Item, ...condition } };
    const TransactItems = [change, ...lists]; // I1
    await table.client.send(new TransactWriteItemsCommand({ TransactItems }));
    return true;
  } catch (error) {
    const conflicts = conflictsIn(error);
    if (conflicts === null) throw error;
    const version = Item?.version?.S;
    if (version === undefined) return false;
    return conflicts.some(({ item }) => item?.version?.S === version); // I3
  }
}

/** The condition that a row is unchanged (I2); if it fails, DynamoDB returns the row. */
function unlessChanged({ version }: VersionedRow) {
  const ReturnValuesOnConditionCheckFailure = "ALL_OLD" as const;
  if (version === undefined) {
    const ConditionExpression = "attribute_not_exists(pk)";
    return { ConditionExpression, ReturnValuesOnConditionCheckFailure };
  }
  return {
    ConditionExpression: "version = :read",
    ExpressionAttributeValues: { ":read": { S: version } },
    ReturnValuesOnConditionCheckFailure,
  };
}

function listChanges(
  TableName: string,
  target: string,
  before: OutboxRow | undefined,
  after: OutboxRow | null,
): TransactWriteItem[] {
  const [from, to] = [listOf(before), listOf(after)];
  if (from === to && before?.seq === after?.seq) return [];
  const changes: TransactWriteItem[] = [];
  if (from !== null && before !== undefined) {
    changes.push({ Delete: { TableName, Key: listKey(from, target, before.seq) } });
  }
  if (to !== null && after !== null) {
    const Item: DynamoItem = { ...listKey(to, target, after.seq), key: { S: after.key } };
    if (after.expiresAt !== null) Item.ttl = ttlOf(after.expiresAt); // I4
    const ConditionExpression = "attribute_not_exists(pk)"; // A seq belongs to one row.
    changes.push({ Put: { TableName, Item, ConditionExpression } });
  }
  return changes;
}
