// Ignored findings: a comment in the code or the Terraform file that accepts a finding.
//   I1. `tidegate-doctor-ignore TGD072: reason`, on the line of the finding or on the one before.
//   I2. The comment names each rule, by id or name; there is no way to ignore all.

import type { Finding } from "./rule.ts";

const COMMENT = /tidegate-doctor-ignore\s+([\w-]+(?:\s*,\s*[\w-]+)*)/;

/** Findings that no comment accepts; `linesOf` returns the lines of a file, or null. */
export function withoutIgnored(
  findings: readonly Finding[],
  linesOf: (file: string) => readonly string[] | null,
): readonly Finding[] {
  return findings.filter(({ rule, location: { file, line } }) => {
    if (file === undefined || line === undefined) return true;
    const lines = linesOf(file) ?? [];
    const [, list = ""] = COMMENT.exec(lines.slice(Math.max(0, line - 2), line).join("\n")) ?? [];
    const accepted = list.split(/\s*,\s*/); // I2
    return !accepted.includes(rule.id) && !accepted.includes(rule.name);
  });
}
