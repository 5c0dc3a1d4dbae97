// Checker: a promise, and a fold over a history that finds where it was broken.

import type { HistoryEvent, WorldFacts } from "../history.ts";

export interface Violation {
  /** Name of the checker that saw it. */
  readonly checker: string;
  readonly at: number;
  readonly message: string;
  /** The records it is about. */
  readonly names: readonly string[];
}

export interface Checker {
  readonly name: string;
  /** What holds if it finds nothing, in one sentence. */
  readonly promise: string;
  check(events: readonly HistoryEvent[], facts: WorldFacts): Violation[];
}

/** Gathers violations of one checker; the first few of a run say as much as all of them. */
const VIOLATIONS_MAX = 20;

export function findings(checker: string) {
  const found: Violation[] = [];
  return {
    found,
    add(at: number, names: readonly string[], message: string): void {
      if (found.length < VIOLATIONS_MAX) found.push({ checker, at, names, message });
    },
  };
}
