// Outbox calls: the methods that change existing rows. They are the same for every store, on top of
// the store's own atomic step that reads, decides and writes rows.

import { assert, present } from "../../core/assert.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import type { Outbox, OutboxRow } from "../../ports/outbox.ts";
import { stepDone, stepRefused, stepRepublish, stepSent } from "./outbox-transitions.ts";

/** The new state of a row; null leaves it unchanged. */
export type RowTransition = (row: OutboxRow | undefined, key: string) => OutboxRow | null;

/**
 * Runs the transition on the rows of these keys, saves and returns the changed ones; durable when
 * it resolves.
 */
export type ChangeRows = (
  target: string,
  keys: readonly string[],
  transition: RowTransition,
) => Promise<OutboxRow[]>;

export type OutboxChanges = Pick<Outbox, "markSent" | "markRefused" | "republish" | "markDone">;

export function outboxChanges(
  changeRows: ChangeRows,
  now: () => EpochMs,
  retentionMs: DurationMs,
): OutboxChanges {
  const change: ChangeRows = (target, keys, transition) =>
    changeRows(target, keys, (row, key) => assertStep(row, transition(row, key)));
  return {
    async markSent(target, marks) {
      const byKey = new Map(marks.map((mark) => [mark.key, mark]));
      await change(target, [...byKey.keys()], (row, key) =>
        stepSent(row, present(byKey.get(key), "a mark"), now(), retentionMs),
      );
    },
    async markRefused(target, marks) {
      const byKey = new Map(marks.map((mark) => [mark.key, mark]));
      await change(target, [...byKey.keys()], (row, key) =>
        stepRefused(row, present(byKey.get(key), "a mark"), now(), retentionMs),
      );
    },
    async republish(target, key, epoch, lease) {
      const transition: RowTransition = (row) => stepRepublish(row, epoch, lease, now());
      const [row] = await change(target, [key], transition);
      return row === undefined ? { kind: "fenced" } : { kind: "taken", row };
    },
    async markDone(target, keys) {
      await change(target, [...new Set(keys)], stepDone);
    },
  };
}

/** Asserts the invariants that hold for every change of a row. */
function assertStep(before: OutboxRow | undefined, after: OutboxRow | null): OutboxRow | null {
  if (before === undefined || after === null) return after;
  assert(after.epoch >= before.epoch, "an epoch never goes back"); // B4 of outbox-transitions.ts
  const lasts = after.state !== "pending" || after.expiresAt === null;
  assert(lasts, "a pending row never expires"); // B5 of outbox-transitions.ts
  return after;
}
