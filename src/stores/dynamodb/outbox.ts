// DynamoDB outbox: the law over one table, by conditional writes.
//   D1. Reads that decide anything are consistent.
//   D2. A seq is made of the time and a count; two writers that draw the same one find out when
//       they write, and the later draws again. Order between processes is that of their clocks.
//   D3. A row is one item, so its body has at most some 390 KB: bigger payloads need a claim check.
//   D4. All pending rows of a target share one partition, which is what keeps them in order; a
//       partition takes about a thousand writes a second.

import { TidegateError } from "../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { type ChangeRows, outboxChanges } from "../../ledger/outbox-calls.ts";
import { createOutboxTaking, type OutboxTaking } from "../../ledger/outbox-lease.ts";
import { stepRegister } from "../../ledger/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxLease, OutboxRow, RegisterResult } from "../../ports/outbox.ts";
import type { Random } from "../../ports/random.ts";
import { dynamoOutboxFault } from "./faults.ts";
import { type DynamoConnection, openTable } from "./open-table.ts";
import { type OutboxTable, readList, readRow, replaceRow } from "./outbox-items.ts";
import { migrateOutbox } from "./outbox-schema.ts";
import { createOutboxUpkeep } from "./outbox-upkeep.ts";

export interface DynamoOutboxOptions extends DynamoConnection {
  /** A table of its own, made if it is missing. */
  readonly table: string;
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
  const { client, guard, close } = await openTable(
    { name: "outbox", faultOf: (error) => dynamoOutboxFault(error, table) },
    connection,
    (opened) => migrateOutbox(opened, table),
  );
  const outboxTable: OutboxTable = { client, table, nextWrite: () => ports.random.uuid() };
  const nextSeq = createSequence(clock, ports.random);
  const change: ChangeRows = (target, keys, law) =>
    guard(async () => {
      const judged = keys.map((key) =>
        decideRow(outboxTable, target, key, (row) => {
          const save = law(row, key);
          return { save, result: save };
        }),
      );
      const rows = await Promise.all(judged);
      return rows.filter((row) => row !== null);
    });

  return {
    register: (target, entries, lease) =>
      guard(async () => {
        const results: RegisterResult[] = [];
        const now = clock.now();
        for (const entry of entries) {
          const decide = (row: OutboxRow | undefined, attempt: number) =>
            stepRegister(row, entry, lease, { now, seq: nextSeq(attempt) });
          results.push(await decideRow(outboxTable, target, entry.key, decide));
        }
        return results;
      }),
    take: (target, limit, lease) =>
      guard(() => takeRows(outboxTable, { target, limit, lease, now: clock.now() })),
    ...outboxChanges(change, clock.now, retentionMs),
    unsettled: (target, page) => guard(() => unsettledRows(outboxTable, target, page)),
    find: (target, key) => guard(async () => (await readRow(outboxTable, target, key)).row),
    ...createOutboxUpkeep({ outbox: outboxTable, clock, guard }),
    close,
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

/** Saves what is decided of a row as it is at that instant, and tells what was decided (D1). */
async function decideRow<T>(
  table: OutboxTable,
  target: string,
  key: string,
  decide: (row: OutboxRow | undefined, attempt: number) => { save: OutboxRow | null; result: T },
): Promise<T> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
    const seen = await readRow(table, target, key);
    const { save, result } = decide(seen.row, attempt);
    if (save === null || (await replaceRow(table, target, seen, save))) return result;
  }
  const message = `the outbox was too busy: others came first ${TRIES_MAX} times`;
  throw new TidegateError("TG_OUTBOX_UNAVAILABLE", message);
}

/** Leases free rows one after the other. */
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
  const taken: OutboxRow[] = [];
  let afterSeq = 0;
  for (;;) {
    const page = await readList(table, "pending", target, { afterSeq, limit: PAGE_ROWS });
    for (const { key, seq } of page) {
      afterSeq = seq;
      const mine = await takeRow(table, target, { key, seq }, taking);
      if (mine !== null) taken.push(mine);
      if (taken.length >= limit) return taken;
    }
    if (page.length < PAGE_ROWS) return taken;
  }
}

/** Leases one row, if it is to be had; one that changes meanwhile is judged as it is then. */
async function takeRow(
  table: OutboxTable,
  target: string,
  { key, seq }: { readonly key: string; readonly seq: number },
  taking: OutboxTaking,
): Promise<OutboxRow | null> {
  for (let tries = 0; ; tries += 1) {
    const seen = await readRow(table, target, key);
    const { row } = seen;
    if (row === undefined || row.seq !== seq || row.state !== "pending") return null;
    const mine = taking.offer(row);
    if (mine === null || (await replaceRow(table, target, seen, mine))) return mine;
    if (tries < TRIES_MAX) continue;
    taking.lose(row); // Whoever keeps changing it may have it, and its group with it.
    return null;
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
      const due = row?.state === "sent" && !row.done && (row.sentAt ?? 0) <= wanted.sentBefore;
      if (row !== undefined && due) found.push(row);
      if (found.length >= wanted.limit) return found;
    }
    afterSeq = page.at(-1)?.seq ?? afterSeq;
    if (page.length < PAGE_ROWS) return found;
  }
}
