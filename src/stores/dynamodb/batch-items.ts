// Batch items: batches and their items in the outbox's table.
//   I1. All batches of a target are in one partition, in the order of their names. The items of a
//       batch are in two partitions of its id: those added and those done.
//   I2. A batch is written on condition that it is the one that was read. Its steps are idempotent,
//       so a write that the SDK repeats after a lost response is decided again, with the same end.
//   I3. An item is open if it was added and is not done. Done is written before the added item is
//       deleted, so a crash in between leaves it in both, and done wins.
//   I4. All items of a batch share two partitions. A partition takes about a thousand writes per
//       second.

import type { DynamoDBClient, WriteRequest } from "@aws-sdk/client-dynamodb";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  GetItemCommand,
  PutItemCommand,
  paginateQuery,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { retryBounded } from "../../core/bounded-retry.ts";
import { TidegateError } from "../../core/errors.ts";
import { durationMs, type EpochMs } from "../../core/units.ts";
import type { BatchRows } from "../../ledger/outbox/batch-calls.ts";
import { liveBatch } from "../../ledger/outbox/batch-transitions.ts";
import type { ExpectedItem, JobBatch, NamePage } from "../../ports/batches.ts";
import { type ContendedWrite, untilWritten, WRITE_LOST } from "./contention.ts";
import { conflictsIn, type DynamoItem } from "./faults.ts";
import { inParallel } from "./in-parallel.ts";
import { ttlOf } from "./record-items.ts";
import type { TableTime } from "./table-time.ts";

export interface BatchTable {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly marks: TableTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

type Part = "added" | "done";

/** Limits of DynamoDB's batch requests. */
const WRITES_MAX = 25;
const READS_MAX = 100;
const PAGE_ITEMS = 100;
/** Tries of a batch request of which DynamoDB leaves parts undone when it throttles. */
const UNPROCESSED_TRIES_MAX = 12;
const UNPROCESSED_PAUSE_MS = 50;
const CONTENDED: ContendedWrite = {
  what: "outbox",
  unavailable: "TG_OUTBOX_UNAVAILABLE",
  triesMax: 32,
};

const batchPk = (target: string) => ({ S: `batch#${target}` });
const itemKey = (part: Part, id: string, name: string): DynamoItem => ({
  pk: { S: `${part}#${id}` },
  sk: { S: name },
});

export function createDynamoBatchRows(table: BatchTable): BatchRows {
  const { marks, guard } = table;
  return {
    time: () => marks.time.read(),
    decide: (target, name, step) =>
      guard(async () => {
        const at = await marks.readToWrite();
        return await untilWritten(CONTENDED, async () => {
          const stored = await readBatch(table, target, name);
          const { save, result } = step(stored, at);
          const written = save === null || (await replaceBatch(table, target, stored, save)); // I2
          return written ? { kind: "done", value: result } : WRITE_LOST;
        });
      }),
    add: (id, items, expiresAt) =>
      guard(() => writeAll(table, distinct(items).map(putRequest("added", id, expiresAt)))),
    open: (id, page) => guard(() => openItems(table, id, page)),
    done: (id, items, expiresAt) =>
      guard(async () => {
        const added = await existing(table, "added", id, distinct(items));
        await writeAll(table, added.map(putRequest("done", id, expiresAt)));
        await writeAll(table, added.map(deleteRequest("added", id))); // I3
      }),
    countDone: (id) => guard(() => countDone(table, id)),
    find: (target, name) => guard(() => readBatch(table, target, name)),
    list: (target, page) => guard(() => listBatches(table, target, page)),
  };
}

async function readBatch(
  { client, table }: BatchTable,
  target: string,
  name: string,
): Promise<JobBatch | undefined> {
  const Key = { pk: batchPk(target), sk: { S: name } };
  const read = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  return batchOf((await client.send(read)).Item);
}

function batchOf(item: DynamoItem | undefined): JobBatch | undefined {
  return item?.row?.S === undefined ? undefined : JSON.parse(item.row.S);
}

/** False if another writer came first (I2). */
async function replaceBatch(
  { client, table: TableName }: BatchTable,
  target: string,
  stored: JobBatch | undefined,
  batch: JobBatch,
): Promise<boolean> {
  const Item: DynamoItem = {
    pk: batchPk(target),
    sk: { S: batch.name },
    row: { S: JSON.stringify(batch) },
    ttl: ttlOf(batch.expiresAt),
  };
  const unchanged =
    stored === undefined
      ? { ConditionExpression: "attribute_not_exists(pk)" }
      : {
          ConditionExpression: "#row = :read",
          ExpressionAttributeNames: { "#row": "row" },
          ExpressionAttributeValues: { ":read": { S: JSON.stringify(stored) } },
        };
  try {
    await client.send(new PutItemCommand({ TableName, Item, ...unchanged }));
    return true;
  } catch (error) {
    if (conflictsIn(error) === null) throw error;
    return false;
  }
}

/** One item per name: DynamoDB rejects a request that names one twice. */
function distinct(items: readonly ExpectedItem[]): ExpectedItem[] {
  return [...new Map(items.map((item) => [item.name, item])).values()];
}

const putRequest =
  (part: Part, id: string, expiresAt: EpochMs) =>
  ({ name, key }: ExpectedItem): WriteRequest => ({
    PutRequest: { Item: { ...itemKey(part, id, name), key: { S: key }, ttl: ttlOf(expiresAt) } },
  });

const deleteRequest =
  (part: Part, id: string) =>
  ({ name }: ExpectedItem): WriteRequest => ({ DeleteRequest: { Key: itemKey(part, id, name) } });

/** Writes of different items; they may be repeated. */
async function writeAll(
  { client, table }: BatchTable,
  requests: readonly WriteRequest[],
): Promise<void> {
  await inParallel(chunks(requests, WRITES_MAX), (chunk) =>
    untilProcessed([...chunk], async (remaining) => {
      const command = new BatchWriteItemCommand({ RequestItems: { [table]: remaining } });
      return (await client.send(command)).UnprocessedItems?.[table] ?? [];
    }),
  );
}

/** Those of the items that are in a part of their batch. */
async function existing(
  { client, table }: BatchTable,
  part: Part,
  id: string,
  items: readonly ExpectedItem[],
): Promise<ExpectedItem[]> {
  const names = new Set<string>();
  await inParallel(chunks(items, READS_MAX), (chunk) =>
    untilProcessed(
      chunk.map(({ name }) => itemKey(part, id, name)),
      async (Keys) => {
        const RequestItems = { [table]: { Keys, ConsistentRead: true } };
        const answer = await client.send(new BatchGetItemCommand({ RequestItems }));
        for (const { sk } of answer.Responses?.[table] ?? []) names.add(sk?.S ?? "");
        return answer.UnprocessedKeys?.[table]?.Keys ?? [];
      },
    ),
  );
  return items.filter(({ name }) => names.has(name));
}

/** Repeats a batch request for the parts that DynamoDB left undone. */
async function untilProcessed<T>(all: T[], send: (remaining: T[]) => Promise<T[]>): Promise<void> {
  let remaining = all;
  const pause = {
    delayMs: (failures: number) => durationMs(UNPROCESSED_PAUSE_MS * 2 ** Math.min(failures, 6)),
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  };
  const tried = await retryBounded({ triesMax: UNPROCESSED_TRIES_MAX, pause }, async () => {
    remaining = await send(remaining);
    return remaining.length === 0 ? { kind: "done", value: null } : WRITE_LOST;
  });
  if (tried.kind === "done") return;
  const message = `the outbox's table throttles: ${remaining.length} items of a batch were not processed`;
  throw new TidegateError("TG_OUTBOX_UNAVAILABLE", message);
}

function chunks<T>(values: readonly T[], size: number): (readonly T[])[] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, at) => values.slice(at * size, (at + 1) * size));
}

/** Pages of added items without those that are done (I3). */
async function openItems(
  table: BatchTable,
  id: string,
  { after, limit }: NamePage,
): Promise<ExpectedItem[]> {
  const open: ExpectedItem[] = [];
  let last = after;
  for (;;) {
    const page = await readPage(table, `added#${id}`, { after: last, limit: PAGE_ITEMS });
    const items = page.map(({ sk, key }) => ({ name: sk?.S ?? "", key: key?.S ?? "" }));
    const done = new Set(await existing(table, "done", id, items));
    open.push(...items.filter((item) => !done.has(item)));
    if (open.length >= limit) return open.slice(0, limit);
    if (page.length < PAGE_ITEMS) return open;
    last = items.at(-1)?.name ?? last;
  }
}

async function readPage(
  { client, table }: BatchTable,
  pk: string,
  { after, limit }: NamePage,
): Promise<DynamoItem[]> {
  const query = new QueryCommand({
    TableName: table,
    ConsistentRead: true,
    KeyConditionExpression: after === null ? "pk = :pk" : "pk = :pk AND sk > :after",
    ExpressionAttributeValues: {
      ":pk": { S: pk },
      ...(after !== null && { ":after": { S: after } }),
    },
    Limit: limit,
  });
  return (await client.send(query)).Items ?? [];
}

async function countDone({ client, table: TableName }: BatchTable, id: string): Promise<number> {
  let count = 0;
  const query = {
    TableName,
    ConsistentRead: true,
    Select: "COUNT",
    KeyConditionExpression: "pk = :pk",
    ExpressionAttributeValues: { ":pk": { S: `done#${id}` } },
  } as const;
  for await (const page of paginateQuery({ client }, query)) count += page.Count ?? 0;
  return count;
}

async function listBatches(
  table: BatchTable,
  target: string,
  { after, limit, expiry }: NamePage & { readonly expiry: EpochMs },
): Promise<JobBatch[]> {
  const live: JobBatch[] = [];
  let last = after;
  for (;;) {
    const page = await readPage(table, `batch#${target}`, { after: last, limit: PAGE_ITEMS });
    live.push(...page.flatMap((item) => liveBatch(batchOf(item), expiry) ?? []));
    if (live.length >= limit) return live.slice(0, limit);
    if (page.length < PAGE_ITEMS) return live;
    last = page.at(-1)?.sk?.S ?? last;
  }
}
