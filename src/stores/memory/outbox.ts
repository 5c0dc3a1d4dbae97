// Memory outbox: the outbox transitions over one map per target. For tests, and for producers that
// may lose pending events with the process.

import { TidegateError } from "../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { batchCalls } from "../../ledger/outbox/batch-calls.ts";
import {
  type ChangeRows,
  outboxChanges,
  type RowTransition,
} from "../../ledger/outbox/outbox-calls.ts";
import { createOutboxTaking } from "../../ledger/outbox/outbox-lease.ts";
import { countRows } from "../../ledger/outbox/outbox-stats.ts";
import {
  isPurgeable,
  type PurgeTimes,
  stepRegister,
} from "../../ledger/outbox/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import {
  type LedgerTime,
  onCallersClock,
  purgeTimes,
  StoreTime,
  type StoreTimeOptions,
} from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxLease, OutboxRow } from "../../ports/outbox.ts";
import { createMemoryBatchRows } from "./batch-rows.ts";

export interface MemoryOutboxOptions extends StoreTimeOptions {
  readonly retentionMs?: DurationMs;
}

type Rows = Map<string, OutboxRow>;

/** Creates an outbox that lives as long as its process. */
export function createMemoryOutbox(
  ports: { readonly clock: Clock; readonly time?: LedgerTime },
  options: MemoryOutboxOptions = {},
): Outbox {
  const { clock, time = new StoreTime(clock, options) } = ports;
  const { retentionMs = RETENTION_MS_DEFAULT } = options;
  const targets = new Map<string, Rows>();
  let seq = 0;
  let closed = false;

  const checkOpen = () => {
    if (closed) throw new TidegateError("TG_CLOSED", "the outbox is closed");
  };
  const batches = createMemoryBatchRows(() => time.read(), checkOpen);
  const rowsOf = (target: string): Rows => {
    checkOpen();
    const rows = targets.get(target) ?? new Map();
    targets.set(target, rows);
    return rows;
  };
  const change: ChangeRows = async (target, keys, transition) =>
    changeRows(rowsOf(target), keys, transition);

  const purgeAll = (limit: number, times: PurgeTimes) => {
    const purged = purgeRows([...targets.values()], limit, times);
    return purged + batches.purge(limit - purged, times.now);
  };

  return {
    async register(target, entries, lease) {
      const rows = rowsOf(target);
      const results = entries.map((entry) => {
        const at = { ...time.read(), seq: seq + 1 };
        const step = stepRegister(rows.get(entry.key), entry, lease, at);
        if (step.fresh) {
          seq += 1;
          rows.delete(entry.key); // Maps keep the order of insertion, which is that of `seq`.
        }
        if (step.save !== null) rows.set(entry.key, step.save);
        return step.result;
      });
      return onCallersClock(results, time);
    },
    async take(target, limit, lease) {
      return takeRows(rowsOf(target), limit, lease, time.read().now);
    },
    ...outboxChanges(change, () => time.read().now, retentionMs),
    sentNotDone: async (target, page) => unsettledRows(rowsOf(target), page),
    find: async (target, key) => rowsOf(target).get(key),
    stats: async (target) => countRows([...rowsOf(target).values()]),
    purge: async (limit, sentBefore) => purgeAll(limit, purgeTimes(time, sentBefore)),
    ...batchCalls(batches, retentionMs),
    leap: () => time.leap(),
    async close() {
      closed = true;
    },
  };
}

function changeRows(rows: Rows, keys: readonly string[], transition: RowTransition): OutboxRow[] {
  const changed = keys.map((key) => transition(rows.get(key), key)).filter((row) => row !== null);
  for (const row of changed) rows.set(row.key, row);
  return changed;
}

function unsettledRows(
  rows: Rows,
  { sentBefore, afterSeq, limit }: Parameters<Outbox["sentNotDone"]>[1],
): OutboxRow[] {
  return [...rows.values()]
    .filter((row) => row.state === "sent" && !row.done && row.seq > afterSeq)
    .filter(({ sentAt }) => sentAt !== null && sentAt <= sentBefore)
    .slice(0, limit);
}

function takeRows(rows: Rows, limit: number, lease: OutboxLease, now: EpochMs): OutboxRow[] {
  const taking = createOutboxTaking(lease, now);
  const leased: OutboxRow[] = [];
  for (const row of rows.values()) {
    if (leased.length >= limit) break;
    const mine = row.state === "pending" ? taking.offer(row) : null;
    if (mine === null) continue;
    rows.set(row.key, mine);
    leased.push(mine);
  }
  return leased;
}

function purgeRows(targets: readonly Rows[], limit: number, times: PurgeTimes): number {
  let purged = 0;
  for (const rows of targets) {
    for (const [key, row] of rows) {
      if (purged < limit && isPurgeable(row, times) && rows.delete(key)) purged += 1;
    }
  }
  return purged;
}
