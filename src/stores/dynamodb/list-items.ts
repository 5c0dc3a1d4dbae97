// List items: the attributes by which records are listed, and the lists themselves.
//   Z1. The records of a scope are spread over SHARDS partitions of each index, by record key, so
//       that no single partition takes all writes. A page asks each of them and merges the answers.
//   Z2. The text that orders a record ends with its record key. A NUL separates names: no name
//       contains it, and it sorts before every other character.
//   Z3. DynamoDB takes 1,024 bytes to order by. A longer object name is ordered by its first bytes.
//   Z4. An index has keys only and may lag. Records are read from the items themselves; one that is
//       no longer where the index has it is left out.

import { QueryCommand } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import { RECORD_KEY_CHARS_MAX } from "../../ledger/batches.ts";
import type { ObjectRange, RecordRange, TimeRange } from "../../ledger/list-records.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { ListedRecord, RecordOrder } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { BATCH_GET_MAX, getItems } from "./get-items.ts";
import { LIST_ATTRIBUTES, LIST_INDEXES } from "./ledger-table.ts";
import { fromRecordItem, recordPk, type SavedRecord } from "./record-items.ts";
import type { LedgerTable } from "./record-writes.ts";

const SHARDS = 8;
/** The end of a key is random enough to spread records. */
const SHARD_CHARS = 4;
const SEPARATOR = "\0";
/** Sorts after every name and after SEPARATOR. */
const BEHIND = "\u{10ffff}";
/** One byte less than DynamoDB takes, for the position behind a record. */
const SORT_BYTES_MAX = 1_023;
/** Makes every whole number positive, and all texts equally long. */
const TIME_OFFSET = 2n ** 53n;
const TIME_DIGITS = 17;

function partition({ pipeline, generation }: LedgerScope, shard: number): string {
  return `${pipeline}#${generation}#${shard}`;
}

/** Z1 */
function shardOf(key: RecordKey): number {
  let sum = 0;
  for (const unit of key.slice(-SHARD_CHARS)) sum += unit.charCodeAt(0);
  return sum % SHARDS;
}

export function timeSort({ at, key }: TimeRange["start"]): string {
  return `${String(BigInt(at) + TIME_OFFSET).padStart(TIME_DIGITS, "0")}#${key}`;
}

function objectSort({ bucket, object, key }: ObjectRange["start"]): string {
  const name = `${bucket}${SEPARATOR}${object}`;
  return `${clip(name, SORT_BYTES_MAX - Buffer.byteLength(key) - 1)}${SEPARATOR}${key}`; // Z3
}

/** The first bytes of a text, without a part of a character. */
function clip(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytesMax)).replace(/\ufffd+$/, "");
}

/** The attributes that put a record into the lists. */
export function listAttributes(scope: LedgerScope, key: RecordKey, saved: SavedRecord): DynamoItem {
  const attributes: DynamoItem = { lp: { S: partition(scope, shardOf(key)) } };
  for (const by of Object.keys(LIST_ATTRIBUTES) as RecordOrder[]) {
    const sort = sortOf(by, { key, ...saved });
    if (sort !== null) attributes[LIST_ATTRIBUTES[by]] = { S: sort };
  }
  return attributes;
}

/** The text that orders a record in a list; null if it is not in that list. */
function sortOf(by: RecordOrder, { key, record, input }: ListedRecord): string | null {
  switch (by) {
    case "event-time":
      return timeSort({ at: input.eventTime, key });
    case "commit-time":
      return record.kind === "committed" ? timeSort({ at: record.changedAt, key }) : null;
    case "object": {
      if (input.object === null) return null;
      const { bucket, key: object } = input.object;
      return objectSort({ bucket, object, key });
    }
  }
}

/** Both ends are inclusive, and no record is at one of them (Z2). */
function boundsOf(range: RecordRange): { lower: string; upper: string } {
  if (range.by !== "object") {
    const { start, downTo } = range;
    if (downTo !== undefined) {
      return { lower: timeSort({ at: downTo, key: "" }), upper: timeSort(start) };
    }
    const lower = timeSort(range.start) + SEPARATOR;
    return { lower, upper: timeSort({ at: range.to, key: "" }) };
  }
  const { start, bucket, end } = range;
  // The first page starts at a prefix or a key, later ones behind a record. A long name is shorter
  // in the index (Z3), so a list may start with other records, which ledger/list-records.ts drops.
  const name = `${start.bucket}${SEPARATOR}${start.object}`;
  const first = clip(name, SORT_BYTES_MAX - RECORD_KEY_CHARS_MAX - 1);
  const lower = start.key === "" ? first : objectSort(start) + SEPARATOR;
  if (bucket === null) return { lower, upper: BEHIND };
  return { lower, upper: clip(bucket + SEPARATOR + (end ?? BEHIND), SORT_BYTES_MAX) };
}

/** Up to `limit` records of the range, in order. */
export async function listDynamoRows(
  table: LedgerTable,
  scope: LedgerScope,
  range: RecordRange,
): Promise<ListedRecord[]> {
  const records: ListedRecord[] = [];
  const newest = range.by !== "object" && range.downTo !== undefined;
  let { lower, upper } = boundsOf(range);
  for (;;) {
    const size = Math.min(BATCH_GET_MAX, range.limit - records.length);
    const entries = await readIndex(table, scope, range.by, { lower, upper, size, newest });
    const items = await getItems(
      table,
      entries.map(({ pk }) => pk),
    );
    for (const { pk, sort } of entries) {
      const record = listedOf(scope, items.get(pk), pk);
      if (record !== null && sortOf(range.by, record) === sort) records.push(record); // Z4
      if (newest) upper = sort;
      else lower = sort + SEPARATOR;
    }
    if (records.length === range.limit || entries.length < size) return records;
  }
}

interface Entry {
  readonly pk: string;
  readonly sort: string;
}

interface IndexPart {
  readonly lower: string;
  readonly upper: string;
  readonly size: number;
  /** The last entries, backwards; an entry at `upper` itself is left out. */
  readonly newest: boolean;
}

/** The first entries of all shards between the bounds, in order (Z1). */
async function readIndex(
  { client, table }: LedgerTable,
  scope: LedgerScope,
  by: RecordOrder,
  { lower, upper, size, newest }: IndexPart,
): Promise<Entry[]> {
  if (compareUtf8(lower, upper) > 0) return [];
  const attribute = LIST_ATTRIBUTES[by];
  const shards = Array.from({ length: SHARDS }, async (_, shard) => {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        IndexName: LIST_INDEXES[by],
        KeyConditionExpression: `lp = :lp AND ${attribute} BETWEEN :lower AND :upper`,
        ExpressionAttributeValues: {
          ":lp": { S: partition(scope, shard) },
          ":lower": { S: lower },
          ":upper": { S: upper },
        },
        Limit: newest ? size + 1 : size,
        ScanIndexForward: !newest,
      }),
    );
    return Items;
  });
  return (await Promise.all(shards))
    .flat()
    .map((item) => ({
      pk: present(item.pk?.S, "the key of a listed record"),
      sort: present(item[attribute]?.S, "the position of a listed record"),
    }))
    .filter(({ sort }) => !newest || sort !== upper)
    .sort((a, b) => (newest ? -1 : 1) * compareUtf8(a.sort, b.sort))
    .slice(0, size);
}

function listedOf(
  scope: LedgerScope,
  item: DynamoItem | undefined,
  pk: string,
): ListedRecord | null {
  const { record, input } = fromRecordItem(item);
  if (record.kind === "absent" || input === null) return null;
  const key = asRecordKey(pk.slice(recordPk(scope, asRecordKey("")).length));
  return { key, record, input };
}
