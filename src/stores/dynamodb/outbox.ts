// DynamoDB outbox: the outbox transitions over one table, by conditional writes.
//   D1. Reads that decide something are consistent.
//   D2. A seq consists of the time and a count. Two writers that draw the same seq notice when they
//       write, and the later one draws again. Order between processes is that of their clocks.
//   D3. A row is one item, so its body has at most about 390 KB: larger payloads need a claim
//       check.
//   D4. All pending rows of a target share one partition, which keeps them in order. A partition
//       takes about a thousand writes per second.

import { retryBounded } from "../../core/bounded-retry.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { batchCalls } from "../../ledger/outbox/batch-calls.ts";
import { type ChangeRows, outboxChanges } from "../../ledger/outbox/outbox-calls.ts";
import { createOutboxTaking, type OutboxTaking } from "../../ledger/outbox/outbox-lease.ts";
import { stepRegister } from "../../ledger/outbox/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { openedOrClosed } from "../../ledger/store-guard.ts";
import { onCallersClock, type StoreTimeOptions } from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxLease, OutboxRow, RegisterResult } from "../../ports/outbox.ts";
import type { Random } from "../../ports/random.ts";
import { createDynamoBatchRows } from "./batch-items.ts";
import { type ContendedWrite, untilWritten, WRITE_LOST } from "./contention.ts";
import { dynamoOutboxFault } from "./faults.ts";
import { type DynamoConnection, openTable } from "./open-table.ts";
import { type OutboxTable, readList, readRow, replaceRow } from "./outbox-items.ts";
import { createOutboxTable, OUTBOX } from "./outbox-schema.ts";
import { createOutboxUpkeep } from "./outbox-upkeep.ts";
import { TableTime } from "./table-time.ts";
import { fencedGuard } from "./table-version.ts";

export interface DynamoOutboxOptions extends DynamoConnection, StoreTimeOptions {
  /** A table used only by the outbox; created if it is missing. */
  readonly table: string;
  readonly retentionMs?: DurationMs;
}

const CONTENDED: ContendedWrite = {
  what: "outbox",
  unavailable: "TG_OUTBOX_UNAVAILABLE",
  triesMax: 32,
};
const CLOCK_KEY = { pk: { S: "meta#clock" }, sk: { S: "meta" } };
const PAGE_ROWS = 100;
/** Registrations per millisecond before seqs run ahead of the clock. */
const SEQ_PER_MS = 4_096;

/** Opens the outbox in a DynamoDB table. */
export async function createDynamoOutbox(
  ports: { readonly clock: Clock; readonly random: Random },
  options: DynamoOutboxOptions,
): Promise<Outbox> {
  const { table, retentionMs = RETENTION_MS_DEFAULT, acceptClock, ...connection } = options;
  const opened = await openTable(
    { name: "outbox", faultOf: (error) => dynamoOutboxFault(error, table) },
    connection,
    (database) => createOutboxTable(database, table),
  );
  const { client, close } = opened;
  const guard = fencedGuard(opened, table, OUTBOX, ports.clock);
  const { clock } = ports;
  const marks = new TableTime(client, { table, key: CLOCK_KEY }, { clock, acceptClock });
  await openedOrClosed(
    guard(() => marks.open()),
    close,
  );
  const { time } = marks;
  const outboxTable: OutboxTable = { client, table, nextWrite: () => ports.random.uuid() };
  const nextSeq = createSequence(time.now, ports.random);
  const change: ChangeRows = (target, keys, transition) =>
    guard(async () => {
      const decisions = keys.map((key) =>
        decideRow(outboxTable, target, key, (row) => {
          const save = transition(row, key);
          return { save, result: save };
        }),
      );
      const rows = await Promise.all(decisions);
      return rows.filter((row) => row !== null);
    });

  return {
    register: (target, entries, lease) =>
      guard(async () => {
        const results: RegisterResult[] = [];
        const at = await marks.readToWrite();
        for (const entry of entries) {
          const decide = (row: OutboxRow | undefined, nth: number) =>
            stepRegister(row, entry, lease, { ...at, seq: nextSeq(nth) });
          results.push(await decideRow(outboxTable, target, entry.key, decide));
        }
        return onCallersClock(results, time);
      }),
    take: (target, limit, lease) =>
      guard(async () => {
        const { now } = await marks.readToWrite();
        return await takeRows(outboxTable, { target, limit, lease, now });
      }),
    ...outboxChanges(change, time.now, retentionMs),
    sentNotDone: (target, page) => guard(() => unsettledRows(outboxTable, target, page)),
    find: (target, key) => guard(async () => (await readRow(outboxTable, target, key)).row),
    ...batchCalls(createDynamoBatchRows({ client, table, marks, guard }), retentionMs),
    ...createOutboxUpkeep({ outbox: outboxTable, marks, guard }),
    close,
  };
}

/**
 * Draws seqs that only grow. A retry skips a random number, so that two writers do not stay in
 * step.
 */
function createSequence(now: () => EpochMs, random: Random): (nth: number) => number {
  let last = 0;
  return (nth) => {
    const leap = nth === 1 ? 1 : 1 + random.below(SEQ_PER_MS);
    last = Math.max(last + leap, now() * SEQ_PER_MS); // D2
    return last;
  };
}

/** Decides on the current row, saves the decision and returns its result (D1). */
async function decideRow<T>(
  table: OutboxTable,
  target: string,
  key: string,
  decide: (row: OutboxRow | undefined, nth: number) => { save: OutboxRow | null; result: T },
): Promise<T> {
  return await untilWritten(CONTENDED, async (nth) => {
    const stored = await readRow(table, target, key);
    const { save, result } = decide(stored.row, nth);
    const written = save === null || (await replaceRow(table, target, stored, save));
    return written ? { kind: "done", value: result } : WRITE_LOST;
  });
}

/** Leases free rows one by one. */
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
  const taking = createOutboxTaking(lease, now);
  const leased: OutboxRow[] = [];
  let afterSeq = 0;
  for (;;) {
    const page = await readList(table, "pending", target, { afterSeq, limit: PAGE_ROWS });
    for (const { key, seq } of page) {
      afterSeq = seq;
      const row = await takeRow(table, target, { key, seq }, taking);
      if (row !== null) leased.push(row);
      if (leased.length >= limit) return leased;
    }
    if (page.length < PAGE_ROWS) return leased;
  }
}

/** Leases one row if it is free; a row that changes in between is decided again. */
async function takeRow(
  table: OutboxTable,
  target: string,
  { key, seq }: { readonly key: string; readonly seq: number },
  taking: OutboxTaking,
): Promise<OutboxRow | null> {
  const { triesMax } = CONTENDED;
  const tried = await retryBounded<OutboxRow | null, OutboxRow>({ triesMax }, async () => {
    const stored = await readRow(table, target, key);
    const { row } = stored;
    if (row === undefined || row.seq !== seq || row.state !== "pending") {
      return { kind: "done", value: null };
    }
    const leased = taking.offer(row);
    const written = leased === null || (await replaceRow(table, target, stored, leased));
    return written ? { kind: "done", value: leased } : { kind: "retry", reason: row };
  });
  if (tried.kind === "done") return tried.value;
  taking.lose(tried.reason); // Another process keeps changing it: leave it the row and its group.
  return null;
}

async function unsettledRows(
  table: OutboxTable,
  target: string,
  wanted: { readonly sentBefore: EpochMs; readonly afterSeq: number; readonly limit: number },
): Promise<OutboxRow[]> {
  const rows: OutboxRow[] = [];
  let { afterSeq } = wanted;
  for (;;) {
    const page = await readList(table, "unsettled", target, { afterSeq, limit: PAGE_ROWS });
    const current = await Promise.all(page.map(({ key }) => readRow(table, target, key)));
    for (const { row } of current) {
      const due = row?.state === "sent" && !row.done && (row.sentAt ?? 0) <= wanted.sentBefore;
      if (row !== undefined && due) rows.push(row);
      if (rows.length >= wanted.limit) return rows;
    }
    afterSeq = page.at(-1)?.seq ?? afterSeq;
    if (page.length < PAGE_ROWS) return rows;
  }
}
