// DynamoDB outbox: the law over one table, by conditional writes.
//   D1. Reads that decide anything are consistent.
//   D2. A seq is made of the time and a count; two writers that draw the same one find out when
//       they write, and the later draws again. Order between processes is that of their clocks.
//   D3. A row is one item, so its body has at most some 390 KB: bigger payloads need a claim check.
//   D4. All pending rows of a target share one partition, which is what keeps them in order; a
//       partition takes about a thousand writes a second.

import { DynamoDBClient, type DynamoDBClientConfig, ScanCommand } from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { type ChangeRows, outboxChanges } from "../../core/outbox-calls.ts";
import { isFree, leased, type OutboxRow, stepRegister } from "../../core/outbox-step.ts";
import { RETENTION_MS_DEFAULT } from "../../core/record-state.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxEntry, OutboxLease, RegisterResult } from "../../ports/outbox.ts";
import type { Random } from "../../ports/random.ts";
import { type Item, outboxFault } from "./faults.ts";
import { fromItem, type OutboxTable, readList, readRow, replaceRow } from "./outbox-items.ts";
import { migrateOutbox } from "./outbox-schema.ts";
import { countRows, expiredRows } from "./outbox-upkeep.ts";

export interface DynamoOutboxOptions {
  /** A table of its own, made if it is missing. */
  readonly table: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly retentionMs?: DurationMs;
}

/** Each further try needs another process to have written the same row meanwhile. */
const TRIES_MAX = 16;
const PAGE_ROWS = 100;
/** Registrations per millisecond before the count runs ahead of the clock. */
const SEQ_PER_MS = 4_096;

/** Opens the outbox in a DynamoDB table. */
export async function createDynamoOutbox(
  ports: { readonly clock: Clock; readonly random: Random },
  options: DynamoOutboxOptions,
): Promise<Outbox> {
  const { clock } = ports;
  const { table, retentionMs = RETENTION_MS_DEFAULT, ...connection } = options;
  const client = new DynamoDBClient(connection as DynamoDBClientConfig);
  const outboxTable: OutboxTable = { client, table, nextWrite: () => ports.random.uuid() };
  const nextSeq = createSequence(clock, ports.random);
  let closed = false;

  async function guard<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new TidegateError("TG_CLOSED", "the outbox is closed");
    try {
      return await work();
    } catch (error) {
      throw outboxFault(error, table);
    }
  }
  const scan = () => scanRows(outboxTable);
  const change: ChangeRows = (target, keys, law) =>
    guard(async () => {
      const rows = await Promise.all(keys.map((key) => changeRow(outboxTable, target, key, law)));
      return rows.filter((row) => row !== null);
    });

  try {
    await guard(() => migrateOutbox(client, table));
  } catch (error) {
    client.destroy();
    throw error;
  }
  return {
    register: (target, entries, lease) =>
      guard(async () => {
        const results: RegisterResult[] = [];
        const asked = { target, lease, now: clock.now() };
        for (const entry of entries) {
          results.push(await registerOne(outboxTable, { ...asked, entry }, nextSeq));
        }
        return results;
      }),
    take: (target, limit, lease) =>
      guard(() => takeRows(outboxTable, { target, limit, lease, now: clock.now() })),
    ...outboxChanges(change, clock.now, retentionMs),
    unsettled: (target, page) => guard(() => unsettledRows(outboxTable, target, page)),
    find: (target, key) => guard(async () => (await readRow(outboxTable, target, key)).row),
    stats: (target) => guard(async () => countRows(await scan(), target)),
    purge: (limit) =>
      guard(async () => {
        const expired = expiredRows(await scan(), clock.now(), limit);
        const gone = expired.map(({ target, seen }) => replaceRow(outboxTable, target, seen, null));
        return (await Promise.all(gone)).filter((done) => done).length;
      }),
    async close() {
      closed = true;
      client.destroy();
    },
  };
}

/** Draws seqs that only grow; a further try leaps, so that two writers do not keep step. */
function createSequence(clock: Clock, random: Random): (attempt: number) => number {
  let last = 0;
  return (attempt) => {
    const leap = attempt === 0 ? 1 : 1 + random.below(SEQ_PER_MS);
    last = Math.max(last + leap, clock.now() * SEQ_PER_MS); // D2
    return last;
  };
}

function overrun(): TidegateError {
  const message = `the outbox was too busy: others came first ${TRIES_MAX} times`;
  return new TidegateError("TG_OUTBOX_UNAVAILABLE", message);
}

async function changeRow(
  table: OutboxTable,
  target: string,
  key: string,
  law: (row: OutboxRow | undefined, key: string) => OutboxRow | null,
): Promise<OutboxRow | null> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
    const seen = await readRow(table, target, key); // D1
    const row = law(seen.row, key);
    if (row === null || (await replaceRow(table, target, seen, row))) return row;
  }
  throw overrun();
}

async function registerOne(
  table: OutboxTable,
  asked: {
    readonly target: string;
    readonly entry: OutboxEntry;
    readonly lease: OutboxLease;
    readonly now: EpochMs;
  },
  nextSeq: (attempt: number) => number,
): Promise<RegisterResult> {
  const { target, entry, lease, now } = asked;
  for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
    const seen = await readRow(table, target, entry.key);
    const { result, save } = stepRegister(seen.row, entry, lease, { now, seq: nextSeq(attempt) });
    if (save === null || (await replaceRow(table, target, seen, save))) return result;
  }
  throw overrun();
}

/** Leases free rows one after the other; whoever loses a row leaves its group to the winner. */
async function takeRows(
  table: OutboxTable,
  asked: {
    readonly target: string;
    readonly limit: number;
    readonly lease: OutboxLease;
    readonly now: EpochMs;
  },
): Promise<OutboxRow[]> {
  const { target, limit, lease, now } = asked;
  const held = new Set<string>();
  const taken: OutboxRow[] = [];
  let afterSeq = 0;
  for (;;) {
    const page = await readList(table, "pending", target, { afterSeq, limit: PAGE_ROWS });
    for (const { key, seq } of page) {
      afterSeq = seq;
      const seen = await readRow(table, target, key);
      const { row } = seen;
      if (row === undefined || row.seq !== seq || row.state !== "pending") continue;
      if (row.groupId !== null && held.has(row.groupId)) continue;
      const mine = leased(row, lease, now);
      const free = isFree(row, lease.owner, now);
      if (free && (await replaceRow(table, target, seen, mine))) taken.push(mine);
      else if (row.groupId !== null) held.add(row.groupId);
      if (taken.length >= limit) return taken;
    }
    if (page.length < PAGE_ROWS) return taken;
  }
}

async function unsettledRows(
  table: OutboxTable,
  target: string,
  wanted: { readonly sentBefore: EpochMs; readonly afterSeq: number; readonly limit: number },
): Promise<OutboxRow[]> {
  const found: OutboxRow[] = [];
  let { afterSeq } = wanted;
  for (;;) {
    const page = await readList(table, "unsettled", target, { afterSeq, limit: PAGE_ROWS });
    const seen = await Promise.all(page.map(({ key }) => readRow(table, target, key)));
    for (const { row } of seen) {
      const due = row?.state === "sent" && !row.settled && (row.sentAt ?? 0) <= wanted.sentBefore;
      if (row !== undefined && due) found.push(row);
      if (found.length >= wanted.limit) return found;
    }
    afterSeq = page.at(-1)?.seq ?? afterSeq;
    if (page.length < PAGE_ROWS) return found;
  }
}

/** Every row of the table, for what is seldom asked. */
async function scanRows({ client, table }: OutboxTable) {
  const items: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const more = ExclusiveStartKey === undefined ? {} : { ExclusiveStartKey };
    const command = new ScanCommand({ TableName: table, ConsistentRead: true, ...more });
    const { Items = [], LastEvaluatedKey } = await client.send(command);
    items.push(...Items.filter(({ pk }) => pk?.S?.startsWith("row#")));
    ExclusiveStartKey = LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  return items.map((item) => ({
    target: (item.pk?.S ?? "").slice("row#".length),
    seen: fromItem(item),
  }));
}
