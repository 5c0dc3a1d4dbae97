// Memory outbox: the law and a map per target. For tests, and for producers that may forget: what
// was registered and not sent is lost with the process.

import { TidegateError } from "../../core/errors.ts";
import {
  isFree,
  leased,
  type OutboxRow,
  stepRefused,
  stepRegister,
  stepRepublish,
  stepSent,
} from "../../core/outbox-step.ts";
import { RETENTION_MS_DEFAULT } from "../../core/record-state.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outbox, OutboxLease } from "../../ports/outbox.ts";

type Rows = Map<string, OutboxRow>;

/** An outbox that lives as long as its process. */
export function createMemoryOutbox(
  ports: { readonly clock: Clock },
  options: { readonly retentionMs?: DurationMs } = {},
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
  const change = (rows: Rows, row: OutboxRow | null) => {
    if (row !== null) rows.set(row.key, row);
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
        change(rows, step.save);
        return step.result;
      });
    },
    async take(target, limit, lease) {
      return takeRows(rowsOf(target), limit, lease, clock.now());
    },
    async markSent(target, marks) {
      const rows = rowsOf(target);
      for (const mark of marks) {
        change(rows, stepSent(rows.get(mark.key), mark, clock.now(), retentionMs));
      }
    },
    async markRefused(target, marks) {
      const rows = rowsOf(target);
      for (const mark of marks) {
        change(rows, stepRefused(rows.get(mark.key), mark, clock.now(), retentionMs));
      }
    },
    async republish(target, key, epoch, lease) {
      const rows = rowsOf(target);
      const row = stepRepublish(rows.get(key), epoch, lease, clock.now());
      change(rows, row);
      return row === null ? { kind: "fenced" } : { kind: "taken", row };
    },
    async unsettled(target, { sentBefore, afterSeq, limit }) {
      return [...rowsOf(target).values()]
        .filter((row) => row.state === "sent" && !row.settled && row.seq > afterSeq)
        .filter(({ sentAt }) => sentAt !== null && sentAt <= sentBefore)
        .slice(0, limit);
    },
    async settle(target, keys) {
      const rows = rowsOf(target);
      for (const key of keys) {
        const row = rows.get(key);
        if (row?.state === "sent") rows.set(key, { ...row, settled: true, body: "" });
      }
    },
    find: async (target, key) => rowsOf(target).get(key),
    async stats(target) {
      const rows = [...rowsOf(target).values()];
      const of = (state: OutboxRow["state"]) => rows.filter((row) => row.state === state);
      const oldest = Math.min(...of("pending").map(({ registeredAt }) => registeredAt));
      return {
        pending: of("pending").length,
        sent: of("sent").length,
        refused: of("refused").length,
        oldestPendingAt: Number.isFinite(oldest) ? epochMs(oldest) : null,
      };
    },
    purge: async (limit) => purgeRows([...targets.values()], limit, clock.now()),
    async close() {
      closed = true;
    },
  };
}

function takeRows(rows: Rows, limit: number, lease: OutboxLease, now: EpochMs): OutboxRow[] {
  const held = new Set<string>();
  const taken: OutboxRow[] = [];
  for (const row of rows.values()) {
    if (taken.length >= limit) break;
    if (row.state !== "pending" || (row.groupId !== null && held.has(row.groupId))) continue;
    if (!isFree(row, lease.owner, now)) {
      if (row.groupId !== null) held.add(row.groupId);
      continue;
    }
    const mine = leased(row, lease, now);
    rows.set(row.key, mine);
    taken.push(mine);
  }
  return taken;
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
