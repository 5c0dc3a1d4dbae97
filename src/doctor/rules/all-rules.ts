// All rules: the one table of the doctor. `tidegate run` checks the first part of it when a pipeline
// starts, `tidegate doctor` all of it, and docs/reference/doctor.md describes it.

import { type Finding, findingsOf, type Rule } from "../rule.ts";
import type { Setup } from "../setup.ts";
import { ACCESS_RULES } from "./access-rules.ts";
import { ALARM_RULES } from "./alarm-rules.ts";
import { COMPUTE_RULES } from "./compute-rules.ts";
import { CONSUMER_CODE_RULES } from "./consumer-code-rules.ts";
import { DEAD_LETTER_RULES } from "./dead-letter-rules.ts";
import { DELIVERY_RULES } from "./delivery-rules.ts";
import { PIPELINE_RULES } from "./pipeline-rules.ts";
import { PRODUCER_CODE_RULES } from "./producer-code-rules.ts";
import { QUEUE_SETTING_RULES, VISIBILITY_RULES } from "./queue-rules.ts";

/** Rules on the queue of a pipeline. A test compares docs/concepts/retries.md with them. */
export const START_RULES: readonly Rule[] = [...DEAD_LETTER_RULES, ...VISIBILITY_RULES];

export const RULES: readonly Rule[] = [
  ...START_RULES,
  ...QUEUE_SETTING_RULES,
  ...COMPUTE_RULES,
  ...DELIVERY_RULES,
  ...ACCESS_RULES,
  ...ALARM_RULES,
  ...PIPELINE_RULES,
  ...CONSUMER_CODE_RULES,
  ...PRODUCER_CODE_RULES,
];

/** The rule of that id or name, in any case. */
export function findRule(word: string): Rule | undefined {
  const wanted = word.toLowerCase();
  return RULES.find(({ id, name }) => id.toLowerCase() === wanted || name === wanted);
}

/** Everything that the rules find in each setup, errors first. */
export function diagnose(...setups: readonly Setup[]): readonly Finding[] {
  const findings = setups.flatMap((setup) => findingsOf(RULES, setup));
  return (["error", "warning", "note"] as const).flatMap((severity) =>
    findings.filter(({ rule }) => rule.severity === severity),
  );
}
