// Rule: one mistake that the doctor recognises. The table of all rules is in rules/all-rules.ts;
// docs/reference/doctor.md is compared with it.
//   R1. Ids and names never change. A rule that is dropped leaves its id unused.
//   R2. An "error" can lose messages, apply them twice, break their order or open them to others. A
//       "warning" costs time or money, or leaves little margin. A "note" is advice.
//   R3. The message of a finding is one clause that names the setting, its consequence and the fix.

import type { Location, Setup } from "./setup.ts";

export type Severity = "error" | "warning" | "note";

/** What a mistake leads to. */
export type Risk = "loss" | "double effect" | "order" | "delay" | "cost" | "exposure" | "blindness";

/** One occurrence of a mistake. */
export interface Match {
  readonly location: Location;
  readonly message: string;
}

export interface Rule {
  readonly id: `TGD${string}`;
  readonly name: string;
  readonly title: string;
  readonly severity: Severity;
  readonly risk: Risk;
  /** What happens if the finding is ignored. */
  readonly consequence: string;
  readonly fix: string;
  readonly check: (setup: Setup) => readonly Match[];
}

/** A place where a rule is broken. */
export interface Finding extends Match {
  readonly rule: Rule;
}

/** The findings of `rules`, in the order of the table. */
export function findingsOf(rules: readonly Rule[], setup: Setup): readonly Finding[] {
  return rules.flatMap((rule) => rule.check(setup).map((match) => ({ rule, ...match })));
}
