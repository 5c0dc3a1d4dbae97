import { describe, expect, test } from "vitest";
import { CODE_CORPUS } from "../../test/support/doctor/code-corpus.ts";
import type { CorpusCase } from "../../test/support/doctor/corpus-case.ts";
import { LIVE_CORPUS } from "../../test/support/doctor/live-corpus.ts";
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
  ...TEMPLATE_CORPUS,
];

function setupsOf({ files, live = [], pipeline }: CorpusCase): readonly Setup[] {
  const all = Object.entries(files).map(([file, text]) => ({ file, text }));
  const terraform = all.filter(({ file }) => file.endsWith(".tf"));
  const code = all.filter(({ file }) => file.endsWith(".ts"));
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
  return [main, ...templates.stacks];
}

test("the corpus has at least 60 configurations, and a good and a bad one for every rule", () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(60);
  const rules = RULES.map(({ name }) => name);
  const broken = new Set(CORPUS.flatMap(({ rule, breaks }) => (breaks.includes(rule) ? rule : [])));
  const good = new Set(CORPUS.flatMap(({ rule, breaks }) => (breaks.includes(rule) ? [] : rule)));
  expect(rules.filter((name) => !broken.has(name))).toEqual([]);
  expect(rules.filter((name) => !good.has(name))).toEqual([]);
});

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
