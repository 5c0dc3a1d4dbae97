// Deadlines: one timer for everything that may take only so long.
//   L1. All spans are the same, so what began first is due first.
//   L2. What ended in time is never told, and is forgotten at once: one handler that takes long
//       does not keep the deadlines of all that came after it in memory.

import { addMs, type DurationMs, durationMs, type EpochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

interface Entry {
  readonly dueAt: EpochMs;
  readonly onPassed: () => void;
}

export interface Deadlines {
  /** Calls `onPassed` after the span, unless the answer is called before. */
  begin(onPassed: () => void): () => void;
  /** How many have begun and neither ended nor passed. */
  readonly open: number;
  close(): void;
}

export function createDeadlines(clock: Clock, spanMs: DurationMs): Deadlines {
  /** In the order they began (L1). */
  const entries = new Set<Entry>();
  const closing = new AbortController();
  let watching = false;

  async function watch(): Promise<void> {
    watching = true;
    for (;;) {
      const [first] = entries;
      if (first === undefined) break;
      const now = clock.now();
      if (first.dueAt <= now) {
        entries.delete(first);
        first.onPassed();
        continue;
      }
      await clock.sleep(durationMs(first.dueAt - now), closing.signal);
    }
    watching = false;
  }

  return {
    begin(onPassed) {
      const entry: Entry = { dueAt: addMs(clock.now(), spanMs), onPassed };
      entries.add(entry);
      // A closed one has nothing left to tell (L2).
      if (!watching) void watch().catch(() => undefined);
      return () => void entries.delete(entry); // L2
    },
    get open() {
      return entries.size;
    },
    close: () => closing.abort(),
  };
}
