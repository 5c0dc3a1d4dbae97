// Alarm module: the file table.tf of the Terraform module `alarms`, from the alarm table.
//   M1. The file in infra/terraform is exactly this text, and a test compares them.

import { ALARM_TABLE, type AlarmRow } from "./alarm-table.ts";
import { type HclValue, hclAttributes } from "./hcl.ts";

const HEAD = `# Table: the alarms. Generated from the alarm table of Tidegate; do not edit it by hand.
`;

/** The whole file (M1). */
export function alarmModuleFile(): string {
  const kinds = ["threshold", "anomaly", "formula"] as const;
  const locals = kinds.map((kind) => {
    const rows = ALARM_TABLE.filter((row) => row.kind === kind);
    const alarms = Object.fromEntries(rows.map((row) => [row.name, fieldsOf(row)]));
    return hclAttributes({ [`${kind}_alarms`]: alarms }, 1);
  });
  return `${HEAD}\nlocals {\n${locals.join("\n\n")}\n}\n`;
}

function fieldsOf(row: AlarmRow): { readonly [name: string]: HclValue } {
  return {
    on: row.on.replaceAll("-", "_"),
    severity: row.severity,
    operator: row.operator,
    statistic: row.statistic,
    period: row.periodSeconds,
    periods: row.periods,
    ...comparisonOf(row),
    why: row.why,
    runbook: row.runbook,
  };
}

function comparisonOf(row: AlarmRow): { readonly [name: string]: HclValue } {
  switch (row.kind) {
    case "threshold":
      return { metric: row.metric, threshold: row.threshold };
    case "anomaly":
      return { metric: row.metric, deviations: row.deviations };
    case "formula": {
      const { a, b } = row.metrics;
      return { formula: row.formula, metric_a: a, metric_b: b, threshold: row.threshold };
    }
  }
}
