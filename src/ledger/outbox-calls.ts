// Outbox calls that change rows which are there: the same for every store, over the store's own way
// of reading, judging and writing rows in one atomic step.

import { present } from "../core/assert.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type {
  OutboxLease,
  OutboxRow,
  RefusedMark,
  RepublishResult,
  SentMark,
} from "../ports/outbox.ts";
import { stepDone, stepRefused, stepRepublish, stepSent } from "./outbox-transitions.ts";

/** What becomes of a row; null leaves it as it is. */
export type RowTransition = (row: OutboxRow | undefined, key: string) => OutboxRow | null;

/** Judges the rows of those keys, saves what changed, and gives it; durable when it resolves. */
export type ChangeRows = (
  target: string,
  keys: readonly string[],
  law: RowTransition,
) => Promise<OutboxRow[]>;

export interface OutboxChanges {
  markSent(target: string, marks: readonly SentMark[]): Promise<void>;
  markRefused(target: string, marks: readonly RefusedMark[]): Promise<void>;
  republish(
    target: string,
    key: string,
    epoch: number,
    lease: OutboxLease,
  ): Promise<RepublishResult>;
  markDone(target: string, keys: readonly string[]): Promise<void>;
}

export function outboxChanges(
  change: ChangeRows,
  now: () => EpochMs,
  retentionMs: DurationMs,
): OutboxChanges {
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
      const law: RowTransition = (row) => stepRepublish(row, epoch, lease, now());
      const [row] = await change(target, [key], law);
      return row === undefined ? { kind: "fenced" } : { kind: "taken", row };
    },
    async markDone(target, keys) {
      await change(target, [...new Set(keys)], stepDone);
    },
  };
}
