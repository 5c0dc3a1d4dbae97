import { describe, expect, test } from "vitest";
import { CDK_CORPUS } from "../../test/support/doctor/cdk-corpus.ts";
import { CODE_CORPUS } from "../../test/support/doctor/code-corpus.ts";
import type { CorpusCase } from "../../test/support/doctor/corpus-case.ts";
import { LIVE_CORPUS } from "../../test/support/doctor/live-corpus.ts";
import { PYTHON_CORPUS } from "../../test/support/doctor/python-corpus.ts";
import { TEMPLATE_CORPUS } from "../../test/support/doctor/template-corpus.ts";
import { TERRAFORM_CORPUS } from "../../test/support/doctor/terraform-corpus.ts";
import { readCode } from "./code/read-code.ts";
import { observedQueueOf } from "./live/queue-attributes.ts";
import { diagnose, RULES } from "./rules/all-rules.ts";
import { EMPTY_SETUP, joinSetups, type Setup } from "./setup.ts";
import { readTemplates } from "./template/read-templates.ts";
import { loadTerraform } from "./terraform/load-terraform.ts";
import { terraformSetup } from "./terraform/terraform-setup.ts";

const CORPUS: readonly CorpusCase[] = [
  ...TERRAFORM_CORPUS,
  ...LIVE_CORPUS,
  ...CODE_CORPUS,
  ...CDK_CORPUS,
  ...PYTHON_CORPUS,
  ...TEMPLATE_CORPUS,
];

function setupsOf({ files, live = [], pipeline }: CorpusCase): readonly Setup[] {
  const all = Object.entries(files).map(([file, text]) => ({ file, text }));
  const terraform = all.filter(({ file }) => file.endsWith(".tf"));
  const code = all.filter(({ file }) => /\.(ts|py)$/.test(file));
  const documents = all.filter(({ file }) => /\.(md|yml|json)$/.test(file));
  const source = { filesIn: () => terraform, resolve: (folder: string) => folder };
  const reading = readCode(code, documents);
  expect(reading.unread).toEqual([]);
  const templates = readTemplates(all.filter(({ file }) => /\.(ya?ml|json)$/.test(file)));
  expect(templates.unread).toEqual([]);
  const main = joinSetups([
    ...(terraform.length === 0 ? [] : [terraformSetup(loadTerraform("infra", source).scopes)]),
    {
      ...EMPTY_SETUP,
      queues: live.map(observedQueueOf),
      pipeline: pipeline ?? null,
      code: reading.patterns,
    },
  ]);
  return [main, ...reading.stacks, ...templates.stacks];
}

test("the corpus has at least 200 configurations, and a good and a bad one for every rule", () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(200);
  const rules = RULES.map(({ name }) => name);
  const broken = new Set(CORPUS.flatMap(({ rule, breaks }) => (breaks.includes(rule) ? rule : [])));
  const good = new Set(CORPUS.flatMap(({ rule, breaks }) => (breaks.includes(rule) ? [] : rule)));
  expect(rules.filter((name) => !broken.has(name))).toEqual([]);
  expect(rules.filter((name) => !good.has(name))).toEqual([]);
});

test("precision and recall on the corpus are what the doctor promises", () => {
  const kinds = new Map<string, { right: number; wrong: number; missed: number }>();
  const errors = { right: 0, wrong: 0, missed: 0 };
  const all = { right: 0, wrong: 0, missed: 0 };
  for (const each of CORPUS) {
    const kind = kindOf(each);
    const own = kinds.get(kind) ?? { right: 0, wrong: 0, missed: 0 };
    kinds.set(kind, own);
    const reported = new Map(diagnose(...setupsOf(each)).map(({ rule }) => [rule.name, rule]));
    for (const [name, { severity }] of reported) {
      const verdict = each.breaks.includes(name) ? "right" : "wrong";
      for (const sum of [own, all, ...(severity === "error" ? [errors] : [])]) sum[verdict] += 1;
    }
    const missed = each.breaks.filter((name) => !reported.has(name)).length;
    for (const sum of [own, all]) sum.missed += missed;
  }
  const precision = ({ right, wrong }: typeof all) => right / Math.max(1, right + wrong);
  const recall = ({ right, missed }: typeof all) => right / Math.max(1, right + missed);
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const lines = [...kinds, ["errors", errors] as const, ["all", all] as const].map(
    ([kind, sum]) =>
      `${kind}: precision ${percent(precision(sum))}, recall ${percent(recall(sum))}`,
  );
  console.log([`doctor on ${CORPUS.length} configurations`, ...lines].join("\n"));
  expect(precision(errors)).toBeGreaterThanOrEqual(0.95);
  expect(precision(all)).toBeGreaterThanOrEqual(0.9);
  expect(recall(all)).toBeGreaterThanOrEqual(0.85);
});

/** The language of a configuration. */
function kindOf({ files, live }: CorpusCase): string {
  const names = Object.keys(files).join(" ");
  if (/-stack|_stack/.test(names)) return "CDK";
  if (live !== undefined) return "live queues";
  if (names.includes(".py")) return "Python";
  if (/template|stack|serverless/.test(names)) return "templates";
  return names.includes(".ts") ? "TypeScript" : "Terraform";
}

describe.each(CORPUS)("$rule: $title", (each) => {
  test(`breaks ${each.breaks.join(", ") || "nothing"}`, () => {
    const findings = diagnose(...setupsOf(each));
    const names = new Set(findings.map(({ rule }) => rule.name));
    expect([...names].toSorted()).toEqual([...each.breaks].toSorted());
    for (const { message, location } of findings) {
      expect(message).toMatch(/^[a-zA-Z][^;]+; [a-z][^;]+[^.]$/);
      expect(message).not.toMatch(/undefined|NaN|null|\[object/);
      expect(location.name).not.toBe("");
    }
  });
});
