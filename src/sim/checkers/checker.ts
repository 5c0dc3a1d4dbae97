// Checker: a guarantee, and a fold over a history that finds violations of it.

import type { HistoryEvent, WorldFacts } from "../history.ts";

export interface Violation {
  /** Name of the checker that found it. */
  readonly checker: string;
  readonly at: number;
  readonly message: string;
  /** The records that it concerns. */
  readonly names: readonly string[];
}

export interface Checker {
  readonly name: string;
  /** The guarantee that holds if the checker finds nothing, in one sentence. */
  readonly promise: string;
  check(events: readonly HistoryEvent[], facts: WorldFacts): Violation[];
}

/** The first few violations of a run say as much as all of them. */
const VIOLATIONS_MAX = 20;

/** Collects the violations of one checker. */
export function findings(checker: string) {
  const violations: Violation[] = [];
  return {
    violations,
    add(at: number, names: readonly string[], message: string): void {
      if (violations.length < VIOLATIONS_MAX) violations.push({ checker, at, names, message });
    },
  };
}
