// Diagnosis text: findings and rules for people.

import type { Finding, Rule, Severity } from "../rule.ts";
import type { Location } from "../setup.ts";
import { type Unread, unreadSummary } from "../unread.ts";

/** The outcome of a check. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly checked: readonly string[];
  readonly unread: readonly Unread[];
}

const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];

/** The lines of a report; `checked` says what was read, and `unread` what was not. */
export function diagnosisText({ findings, checked, unread }: Diagnosis): readonly string[] {
  const lines = findings.flatMap(({ rule, location, message }) => [
    `${rule.severity.padEnd(7)} ${rule.id} ${locationText(location)}`,
    `        ${message}`,
  ]);
  const counts = SEVERITIES.map((severity) => {
    const count = findings.filter(({ rule }) => rule.severity === severity).length;
    return `${count} ${severity}${count === 1 ? "" : "s"}`;
  });
  const missing = unreadSummary(unread);
  return [
    ...lines,
    ...(lines.length === 0 ? [] : [""]),
    `checked ${checked.join(", ")}: ${counts.join(", ")}${missing === null ? "" : `; ${missing}`}`,
  ];
}

/** `infra/queue.tf:12 (orders)`, or the name alone. */
export function locationText({ name, file, line }: Location): string {
  if (file === undefined) return name;
  const at = line === undefined ? file : `${file}:${line}`;
  return name === file ? at : `${at} (${name})`;
}

/** The table of `tidegate doctor --list-rules`. */
export function ruleList(rules: readonly Rule[]): readonly string[] {
  const width = Math.max(...rules.map(({ name }) => name.length));
  return rules.map(({ id, name, severity, title }) => {
    return `${id}  ${severity.padEnd(7)}  ${name.padEnd(width)}  ${title}`;
  });
}

/** What a rule is about, without a trace. */
export function ruleText(rule: Rule): readonly string[] {
  const { id, name, title, severity, risk, consequence, fix } = rule;
  return [
    `${id} ${name} (${severity}, ${risk})`,
    title,
    "",
    `If ignored: ${consequence}`,
    `Fix: ${fix}`,
  ];
}
