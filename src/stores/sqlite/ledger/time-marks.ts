// Time marks: the mark of StoreTime in a SQLite file. Call `move` inside a write transaction.

import type { DatabaseSync } from "node:sqlite";
import { durationMs, type EpochMs, epochMs } from "../../../core/units.ts";
import { StoreTime, type StoreTimeOptions, type TimeMark } from "../../../ledger/store-time.ts";
import type { Clock } from "../../../ports/clock.ts";

const SELECT = "SELECT at, waited_ms AS waitedMs FROM tidegate_clock WHERE part = ?";
const SAVE = "INSERT OR REPLACE INTO tidegate_clock (part, at, waited_ms) VALUES (?, ?, ?)";

export interface MarkedTime {
  readonly time: StoreTime;
  /** Moves the mark on if it is due. */
  move(): void;
}

/** `newest` finds an instant in a file without a mark, from before marks were stored. */
export function openTime(
  db: DatabaseSync,
  part: "ledger" | "outbox",
  { clock, ...options }: StoreTimeOptions & { readonly clock: Clock },
  newest: string,
): MarkedTime {
  const select = db.prepare(SELECT);
  const save = db.prepare(SAVE);
  const stored = (): TimeMark | null => {
    const row = select.get(part);
    if (row === undefined) return null;
    return { at: epochMs(Number(row.at)), waitedMs: durationMs(Number(row.waitedMs)) };
  };
  const time = new StoreTime(clock, options);
  const mark = stored();
  time.continueFrom(mark, mark === null ? newestIn(db, newest) : null);
  return {
    time,
    move() {
      if (!time.isMarkDue()) return;
      const { at, waitedMs } = time.exchange(stored());
      save.run(part, at, waitedMs);
    },
  };
}

function newestIn(db: DatabaseSync, sql: string): EpochMs | null {
  const at = db.prepare(sql).get()?.at ?? null;
  return at === null ? null : epochMs(Number(at));
}
