// Deadlines: one timer for everything that may take only so long.
//   L1. All spans are the same, so what began first is due first. They are measured by the steady
//       clock: a wall clock that is set forward would end all attempts at once, and one that is set
//       back would let what hangs keep its slot for as long again.
//   L2. What ended in time is never told, and is forgotten at once: one handler that takes long
//       does not keep the deadlines of all that came after it in memory.

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

interface Entry {
  /** On the steady clock. */
  readonly dueAt: number;
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
      const now = clock.monotonic();
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
      const entry: Entry = { dueAt: clock.monotonic() + spanMs, onPassed };
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
