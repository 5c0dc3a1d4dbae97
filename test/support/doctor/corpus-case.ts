// Corpus case: one configuration, and exactly the rules that it breaks.

import type { ObservedPipeline } from "../../../src/doctor/setup.ts";

export interface CorpusCase {
  /** The rule that it is about. */
  readonly rule: string;
  readonly title: string;
  /** Names of all rules with a finding; empty for a good configuration. */
  readonly breaks: readonly string[];
  /** Files by name: Terraform, code and Markdown. */
  readonly files: Readonly<Record<string, string>>;
  /** Attributes of live queues, as SQS returns them. */
  readonly live?: readonly Readonly<Record<string, string>>[];
  readonly pipeline?: ObservedPipeline;
}

/** `text` with every change made exactly once. */
export function changed(text: string, ...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((before, [from, to]) => {
    if (from === "" && before === "") return to;
    if (before.split(from).length !== 2) throw new Error(`"${from}" is not there exactly once`);
    return before.replace(from, () => to);
  }, text);
}
