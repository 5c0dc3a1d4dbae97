// Deadlines: one timer for all attempts with the same timeout.
//   L1. All spans are equal, so the entry that began first is due first. The steady clock measures
//       them: a wall clock that is set forward would end all attempts at once, and one that is set
//       back would let a hanging attempt keep its slot for longer.
//   L2. An entry that ends in time is removed immediately and never reported. One slow handler does
//       not keep the deadlines of all later attempts in memory.

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

interface Entry {
  /** On the steady clock. */
  readonly dueAt: number;
  readonly onPassed: () => void;
}

export interface Deadlines {
  /** Calls `onPassed` after the span, unless the returned function is called before. */
  begin(onPassed: () => void): () => void;
  /** Entries that have neither ended nor passed. */
  readonly open: number;
  close(): void;
}

export function createDeadlines(clock: Clock, spanMs: DurationMs): Deadlines {
  /** In order of their begin (L1). */
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
      // Once closed, deadlines report nothing.
      if (!watching) void watch().catch(() => undefined);
      return () => void entries.delete(entry); // L2
    },
    get open() {
      return entries.size;
    },
    close: () => closing.abort(),
  };
}
