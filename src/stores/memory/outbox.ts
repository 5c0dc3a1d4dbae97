// Memory outbox: the outbox transitions over one map per target. For tests, and for producers that
// may lose pending events with the process.

import { TidegateError } from "../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { type ChangeRows, outboxChanges } from "../../ledger/outbox-calls.ts";
import { createOutboxTaking } from "../../ledger/outbox-lease.ts";
import { countRows } from "../../ledger/outbox-stats.ts";
import { stepRegister } from "../../ledger/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxLease, OutboxRow } from "../../ports/outbox.ts";

export interface MemoryOutboxOptions {
  readonly retentionMs?: DurationMs;
}

type Rows = Map<string, OutboxRow>;

/** Creates an outbox that lives as long as its process. */
export function createMemoryOutbox(
  ports: { readonly clock: Clock },
  options: MemoryOutboxOptions = {},
): Outbox {
  const { clock } = ports;
  const { retentionMs = RETENTION_MS_DEFAULT } = options;
  const targets = new Map<string, Rows>();
  let seq = 0;
  let closed = false;

  const rowsOf = (target: string): Rows => {
    if (closed) throw new TidegateError("TG_CLOSED", "the outbox is closed");
    const rows = targets.get(target) ?? new Map();
    targets.set(target, rows);
    return rows;
  };
  const change: ChangeRows = async (target, keys, transition) => {
    const rows = rowsOf(target);
    const changed = keys.map((key) => transition(rows.get(key), key)).filter((row) => row !== null);
    for (const row of changed) rows.set(row.key, row);
    return changed;
  };

  return {
    async register(target, entries, lease) {
      const rows = rowsOf(target);
      return entries.map((entry) => {
        const at = { now: clock.now(), seq: seq + 1 };
        const step = stepRegister(rows.get(entry.key), entry, lease, at);
        if (step.fresh) {
          seq += 1;
          rows.delete(entry.key); // Maps keep the order of insertion, which is that of `seq`.
        }
        if (step.save !== null) rows.set(entry.key, step.save);
        return step.result;
      });
    },
    async take(target, limit, lease) {
      return takeRows(rowsOf(target), limit, lease, clock.now());
    },
    ...outboxChanges(change, clock.now, retentionMs),
    async unsettled(target, { sentBefore, afterSeq, limit }) {
      return [...rowsOf(target).values()]
        .filter((row) => row.state === "sent" && !row.done && row.seq > afterSeq)
        .filter(({ sentAt }) => sentAt !== null && sentAt <= sentBefore)
        .slice(0, limit);
    },
    find: async (target, key) => rowsOf(target).get(key),
    stats: async (target) => countRows([...rowsOf(target).values()]),
    purge: async (limit) => purgeRows([...targets.values()], limit, clock.now()),
    async close() {
      closed = true;
    },
  };
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

function purgeRows(targets: readonly Rows[], limit: number, now: EpochMs): number {
  let purged = 0;
  for (const rows of targets) {
    for (const [key, { expiresAt }] of rows) {
      if (purged < limit && expiresAt !== null && expiresAt <= now && rows.delete(key)) purged += 1;
    }
  }
  return purged;
}
