// Deadlines: one timer for everything that may take only so long.
//   L1. All spans are the same, so what began first is due first.
//   L2. What ended in time is never told.

import { addMs, type DurationMs, durationMs, type EpochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

interface Entry {
  readonly dueAt: EpochMs;
  readonly onPassed: () => void;
  over: boolean;
}

export interface Deadlines {
  /** Calls `onPassed` after the span, unless the answer is called before. */
  begin(onPassed: () => void): () => void;
  close(): void;
}

export function createDeadlines(clock: Clock, spanMs: DurationMs): Deadlines {
  const entries: Entry[] = [];
  const closing = new AbortController();
  let watching = false;

  async function watch(): Promise<void> {
    watching = true;
    while (entries.length > 0) {
      const [first] = entries;
      if (first === undefined) break;
      const now = clock.now();
      if (first.over || first.dueAt <= now) {
        entries.shift();
        if (!first.over) first.onPassed();
        first.over = true;
        continue;
      }
      await clock.sleep(durationMs(first.dueAt - now), closing.signal);
    }
    watching = false;
  }

  return {
    begin(onPassed) {
      const entry: Entry = { dueAt: addMs(clock.now(), spanMs), onPassed, over: false };
      entries.push(entry);
      // A closed one has nothing left to tell (L2).
      if (!watching) void watch().catch(() => undefined);
      return () => {
        entry.over = true;
        while (entries[0]?.over) entries.shift(); // L1
      };
    },
    close: () => closing.abort(),
  };
}
