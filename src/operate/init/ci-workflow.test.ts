import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { WORKFLOW, writeWorkflow } from "./ci-workflow.ts";

const folder = useTemporaryFolder("ci");

function project(name: string, files: Readonly<Record<string, string>>): string {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return join(folder, name);
}

const commandsIn = (root: string) => {
  const text = readFileSync(join(root, WORKFLOW), "utf8");
  return [...text.matchAll(/^\s+(?:- )?run: (.+)$/gm)].map(([, command]) => command);
};

test("the workflow checks the pipeline, each producer and the Terraform folder", () => {
  const root = project("all", {
    "pipeline.ts": "",
    "src/send.ts": 'import { createProducer } from "tidegate/produce";\nexport default 1;',
    "src/send.test.ts": 'import { createProducer } from "tidegate/produce";\nexport default 1;',
    "src/internal.ts": 'import { createProducer } from "tidegate/produce";',
    "infra/main.tf": "",
  });
  expect(writeWorkflow(root)).toBe(WORKFLOW);
  expect(commandsIn(root)).toEqual([
    "npm ci",
    "npm test",
    "npx tidegate comply src/send.ts",
    "npx tidegate prove pipeline.ts",
    "npx tidegate contract diff pipeline.ts --against contract.json",
    "npx tidegate doctor pipeline.ts --terraform infra",
  ]);
});

test("the contract is compared only if the project has stored one (W4)", () => {
  const root = project("contract", { "pipeline.ts": "" });
  writeWorkflow(root);
  const text = readFileSync(join(root, WORKFLOW), "utf8");
  expect(text).toMatch(
    /if: hashFiles\('contract\.json'\) != ''\n +run: npx tidegate contract diff/,
  );
});

test("actions are pinned by digest, and the job may only read (W3)", () => {
  const root = project("pinned", { "pipeline.ts": "" });
  writeWorkflow(root);
  const text = readFileSync(join(root, WORKFLOW), "utf8");
  for (const [, action] of text.matchAll(/uses: (\S+)/g)) expect(action).toMatch(/@[0-9a-f]{40}$/);
  expect(text).toContain("permissions:\n  contents: read\n");
});

test("nothing is overwritten, and a folder without a pipeline is refused (W1)", () => {
  const root = project("twice", { "pipeline.ts": "", [WORKFLOW]: "mine" });
  expect(() => writeWorkflow(root)).toThrow("nothing was written");
  expect(readFileSync(join(root, WORKFLOW), "utf8")).toBe("mine");
  const empty = project("empty", { "README.md": "" });
  expect(() => writeWorkflow(empty)).toThrow("has no pipeline.ts; create the project first");
});
