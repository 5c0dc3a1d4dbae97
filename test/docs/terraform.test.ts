// The Terraform guide lists exactly the modules and the alarms, and its runbooks exist.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALARM_TABLE, type AlarmRow } from "../../src/infra/alarm-table.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/terraform.md"), "utf8");

test("every module has a row", () => {
  const modules = readdirSync(join(root, "infra/terraform/modules"));
  const rows = rowsOf(page, "module").map(([name = ""]) => name.replaceAll("`", ""));
  expect(rows.toSorted()).toEqual(modules.toSorted());
});

function conditionOf(alarm: AlarmRow): string {
  const times = `${alarm.periods} × ${alarm.periodSeconds} s`;
  switch (alarm.kind) {
    case "threshold":
      return `\`${alarm.metric}\` > ${alarm.threshold}, ${times}`;
    case "anomaly":
      return `\`${alarm.metric}\` below its usual band, ${times}`;
    case "formula":
      return `\`${alarm.formula}\` > ${alarm.threshold}, ${times}`;
  }
}

test("every alarm has a row, as the table says", () => {
  const rows = rowsOf(page, "alarm");
  expect(rows.map((row) => row.slice(0, 3))).toEqual(
    ALARM_TABLE.map((alarm) => [
      `\`${alarm.name}\``,
      alarm.on.replaceAll("-", " ").replace("dead letter queue", "dead-letter queue"),
      conditionOf(alarm),
    ]),
  );
  const links = rows.map(([, , , link = ""]) => /\.\.\/runbooks\/(.+)\)/.exec(link)?.[1]);
  expect(links).toEqual(ALARM_TABLE.map(({ runbook }) => runbook));
});

test("every runbook of an alarm exists, with its heading", () => {
  for (const { runbook } of ALARM_TABLE) {
    const [file = "", anchor] = runbook.split("#");
    const path = join(root, "docs/runbooks", file);
    expect([runbook, existsSync(path)]).toEqual([runbook, true]);
    const headings = [...readFileSync(path, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    );
    expect(headings).toContain(anchor);
  }
});
