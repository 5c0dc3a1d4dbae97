// The doctor on real files and on the embedded cloud, through the command line.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import type { Log } from "sarif";
import { describe, expect, test } from "vitest";
import { fetchSarifSchema } from "../../../scripts/sarif-schema.ts";
import { COMMAND_GROUPS } from "../../../src/cli/command-table.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { diagnosisSarif } from "../../../src/doctor/report/diagnosis-json.ts";
import { RULES } from "../../../src/doctor/rules/all-rules.ts";
import { examine } from "../../../src/operate/doctor.ts";
import { WORKFLOW, writeWorkflow } from "../../../src/operate/init/ci-workflow.ts";
import { writeProject } from "../../../src/operate/init/new-project.ts";
import { devNames, devSetup } from "../../../src/run/dev/dev-setup.ts";
import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";
import { runChild } from "../../support/child-process.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { changed } from "../../support/doctor/corpus-case.ts";
import { STANDARD_TF } from "../../support/doctor/terraform-bases.ts";
import { reportMissing } from "../../support/requires.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("doctor");
const OPERATE = new URL("../../../src/api/operate.ts", import.meta.url).href;

async function doctor(...words: readonly string[]) {
  const lines: string[] = [];
  const notes: string[] = [];
  const code = await runCli(["doctor", ...words], {
    terminal: false,
    line: (text) => void lines.push(text),
    note: (text) => void notes.push(text),
  });
  return { code, lines, notes };
}

function folderOf(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

const UNSAFE = changed(STANDARD_TF, ["4 * 24 * 3600", "14 * 24 * 3600"]);

test("a new project on the embedded cloud has no findings, and neither has its live queue", async () => {
  const project = join(folder, "orders");
  writeProject(project, "^1.0.0");
  const file = join(project, "pipeline.ts");
  const pipeline = await loadPipeline(file);
  await using cloud = await startCloud({ setup: devSetup(pipeline) });
  const queues = [devNames(pipeline).queue];
  const examination = await examine({ file, queues, endpoint: cloud.endpoint });
  expect(examination.findings).toEqual([]);
  expect(examination.unread).toEqual([]);
  const { setup } = examination;
  expect([setup.queues, setup.buckets, setup.subscriptions].map((list) => list.length)).toEqual([
    2, 1, 1,
  ]);
});

test.each(["orders", "orders.fifo"])(
  "a pipeline of messages on the embedded queue %s has no findings",
  async (queue) => {
    const name = queue.replace(".", "-");
    const path = folderOf(`messages-${name}`, {
      "pipeline.ts": `import { pipeline } from "tidegate";
export default pipeline({ name: "${name}", source: { queue: "${queue}" }, handler() {} });\n`,
    });
    const file = join(path, "pipeline.ts");
    const pipeline = await loadPipeline(file);
    await using cloud = await startCloud({ setup: devSetup(pipeline) });
    const { findings } = await examine({ file, queues: [queue], endpoint: cloud.endpoint });
    expect(findings).toEqual([]);
  },
);

test("a live queue with a mistake has a finding, and the exit code is 1", async () => {
  await using cloud = await startCloud({ setup: { queues: [{ name: "alone" }] } });
  const { code, lines } = await doctor("--queue", "alone", "--endpoint", cloud.endpoint);
  expect(code).toBe(1);
  expect(lines[0]).toBe("error   TGD001 alone");
  expect(lines.at(-1)).toMatch(/^checked live queues alone: 1 error, \d+ warnings?, 0 notes$/);
});

describe("the report", () => {
  test("is text with file and line, and the exit code follows the errors", async () => {
    const bad = await doctor("--terraform", folderOf("bad", { "main.tf": UNSAFE }));
    expect(bad.code).toBe(1);
    expect(bad.lines[0]).toMatch(/^error {3}TGD007 .*bad\/main\.tf:\d+ \(orders\)$/);
    const good = await doctor("--terraform", folderOf("good", { "main.tf": STANDARD_TF }));
    expect(good).toEqual({
      code: 0,
      notes: [],
      lines: [expect.stringMatching(/: 0 errors, 0 warnings, 0 notes$/)],
    });
  });

  test("is JSON with --json", async () => {
    const { lines, code } = await doctor("--json", "--terraform", join(folder, "bad"));
    expect(code).toBe(1);
    const { findings } = JSON.parse(lines.join(""));
    expect(findings).toEqual([
      expect.objectContaining({ rule: "TGD007", severity: "error", risk: "loss" }),
    ]);
  });

  test("is SARIF 2.1.0 with --sarif, with every rule and a line for every finding", async () => {
    const { lines } = await doctor("--sarif", "--terraform", join(folder, "bad"));
    const log: Log = JSON.parse(lines.join(""));
    expect(log.version).toBe("2.1.0");
    const [run] = log.runs;
    expect(run?.tool.driver.rules?.map(({ id }) => id)).toEqual(RULES.map(({ id }) => id));
    for (const { ruleId, ruleIndex = -1, level, locations } of run?.results ?? []) {
      expect(RULES[ruleIndex]?.id).toBe(ruleId);
      expect(["error", "warning", "note"]).toContain(level);
      const physical = locations?.[0]?.physicalLocation;
      expect(physical?.region?.startLine).toBeGreaterThan(0);
      expect(URL.canParse(physical?.artifactLocation?.uri ?? "", "file:///")).toBe(true);
    }
    expect(run?.results).toHaveLength(1);
    // The compiler checks the type.
    const typed = diagnosisSarif({ findings: [], unread: [] }, RULES, "1.0.0") satisfies Log;
    expect(typed.runs[0]?.results).toEqual([]);
  });

  const fetched = fetchSarifSchema();
  if ("missing" in fetched) reportMissing("the SARIF schema", fetched.missing);

  test.skipIf("missing" in fetched)("is valid by the schema of SARIF 2.1.0", async () => {
    const { schema } = fetched as { readonly schema: string };
    const { id: _id, $schema: _draft4, ...rules } = JSON.parse(schema);
    const ajv = new Ajv({ strict: false, unicodeRegExp: false });
    addFormats.default(ajv);
    const validate = ajv.compile(rules);
    const { lines } = await doctor("--sarif", "--terraform", join(folder, "bad"));
    const log: Log = JSON.parse(lines.join(""));
    expect([validate(log), validate.errors]).toEqual([true, null]);
    const live = RULES.map((rule) => ({ rule, location: { name: "queue q" }, message: "m" }));
    const everyRule = diagnosisSarif(
      { findings: live as never, unread: [{ reason: "module", text: "m" }] },
      RULES,
      "1.0.0",
    );
    expect([validate(everyRule), validate.errors]).toEqual([true, null]);
    const [result] = log.runs[0]?.results ?? [];
    expect(
      validate({ ...log, runs: [{ ...log.runs[0], results: [{ ...result, line: 1 }] }] }),
    ).toBe(
      false, // The schema knows no such field, so that it can find one that we invent.
    );
  });

  test("is a checklist with --checklist, ticked by evidence and unticked by findings", async () => {
    const file = join(folder, "orders/pipeline.ts");
    const terraform = join(folder, "bad");
    const { lines } = await doctor(file, "--terraform", terraform, "--checklist");
    expect(lines).toContain("- [x] Exponential backoff with jitter implemented");
    expect(lines).toContain("- [x] DLQ attached with sane maxReceiveCount");
    expect(lines).toContain("- [ ] Runbooks linked from alerts");
    expect(lines.filter((line) => line.startsWith("- ["))).toHaveLength(15);
  });

  test("lists all rules with --list-rules", async () => {
    const { lines, code } = await doctor("--list-rules");
    expect(code).toBe(0);
    expect(lines).toHaveLength(RULES.length);
  });
});

test("modules by relative path are read, with their inputs and outputs; others are noted", async () => {
  const root = folderOf("modular", {
    "main.tf": `
module "queue" {
  source = "./queue"
  days   = 14
}
module "elsewhere" { source = "hashicorp/consul/aws" }
output "arn" { value = module.queue.arn }
`,
  });
  folderOf("modular/queue", {
    "main.tf": `variable "days" { type = number }\n${changed(STANDARD_TF, [
      "4 * 24 * 3600",
      "var.days * 24 * 3600",
    ])}\noutput "arn" { value = aws_sqs_queue.work.arn }\n`,
  });
  const { lines, notes } = await doctor("--terraform", root);
  expect(lines[0]).toContain("TGD007");
  const missing = "module hashicorp/consul/aws is not in this project";
  expect(notes).toEqual([`warning: not read: ${missing}`]);
  expect(lines.at(-1)).toMatch(/1 error, .*; not read: 1 module outside of the project$/);
  const { lines: json } = await doctor("--json", "--terraform", root);
  expect(JSON.parse(json.join("")).unread).toEqual([{ reason: "module", text: missing, count: 1 }]);
  const sarif: Log = JSON.parse((await doctor("--sarif", "--terraform", root)).lines.join(""));
  const [said] = sarif.runs[0]?.invocations?.[0]?.toolExecutionNotifications ?? [];
  expect(said?.message.text).toBe(`not read: ${missing}`);
  const { lines: list } = await doctor("--checklist", "--terraform", root);
  expect(list.at(-1)).toBe("not read: 1 module outside of the project");
});

test("what was not read is counted, and --strict has an exit code for it", async () => {
  const path = folderOf("partly", {
    "half.ts": "import sqs from 'sqs';\nconst = ;",
    "main.go": 'import "github.com/aws/aws-sdk-go/service/sqs"',
    "note.go": "package none",
    "queue.tf": "",
    "large.js": `// ${"x".repeat(1_024 * 1_024)}`,
  });
  const { code, lines, notes } = await doctor("--code", path);
  expect(code).toBe(0);
  const [, missing = ""] = lines.at(-1)?.split(": 0 errors, 0 warnings, 0 notes; not read: ") ?? [];
  expect(missing.split(", ")).toEqual([
    "1 file that does not parse",
    "1 file over the size limit",
    "1 file of a format that is not read",
    "1 Terraform folder that was not named",
  ]);
  expect(notes).toHaveLength(4);
  expect((await doctor("--code", path, "--strict")).code).toBe(5);
  const whole = folderOf("whole", { "a.ts": "export const url: string = queueUrl;" });
  expect((await doctor("--code", whole, "--strict")).code).toBe(0);
});

describe("the workflow of tidegate init --ci", () => {
  test("has only commands that exist, and they pass on a new project", async () => {
    const project = join(folder, "with-ci");
    writeProject(project, "^1.0.0");
    writeWorkflow(project);
    const text = readFileSync(join(project, WORKFLOW), "utf8");
    const runs = [...text.matchAll(/run: (.+)$/gm)].map(([, command = ""]) => command);
    const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
    expect(Object.keys(scripts)).toContain("test");
    const own = runs.flatMap((command) => /^npx tidegate (.+)$/.exec(command)?.[1] ?? []);
    expect(runs.filter((run) => !run.startsWith("npx tidegate "))).toEqual(["npm ci", "npm test"]);
    expect(own.map((words) => words.split(" ")[0])).toEqual(["prove", "contract", "doctor"]);
    // As the remark in the workflow says: it compares what the project has stored.
    const shown = await endOf(startCommand(["contract", "show", "pipeline.ts"], { cwd: project }));
    writeFileSync(join(project, "contract.json"), shown.out);
    for (const words of own) {
      expect(COMMAND_GROUPS.map(({ word }) => word)).toContain(words.split(" ")[0]);
      const ended = await endOf(startCommand(words.split(" "), { cwd: project }));
      expect(ended, words).toMatchObject({ code: 0 });
    }
  });

  test("fails when a producer has no compliance test", async () => {
    const project = join(folder, "with-ci");
    const producer = `import { createProducer } from "tidegate/produce";
export const create = (ports) => createProducer(ports);\n`;
    writeFileSync(join(project, "send.ts"), producer);
    const { code, lines } = await doctor(join(project, "pipeline.ts"));
    expect(code).toBe(1);
    expect(lines[0]).toMatch(/^error {3}TGD094 .*send\.ts:2$/);
    const tested = `import { complianceTests } from "tidegate/testkit";
import { create } from "./send.ts";\ncomplianceTests(create);\n`;
    writeFileSync(join(project, "send.test.ts"), tested);
    expect((await doctor(join(project, "pipeline.ts"))).code).toBe(0);
  });
});

test("the parsers of the doctor are loaded only when it reads a folder", async () => {
  const code = `import { registerHooks } from "node:module";
    const parsers = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        if (/^(@babel|@lezer|yaml)/.test(specifier)) parsers.add(specifier);
        return next(specifier, context);
      },
    });
    const { examine } = await import(${JSON.stringify(OPERATE)});
    const before = parsers.size;
    await examine({ code: ${JSON.stringify(folderOf("no-code", {}))} });
    console.log(before, parsers.has("@babel/parser"), parsers.has("@lezer/python"));`;
  const run = await runChild(process.execPath, ["--input-type=module", "--eval", code]);
  expect(run.stdout).toBe("0 true true\n");
});
