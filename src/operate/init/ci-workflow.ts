// CI workflow: the file that `tidegate init --ci` writes. It runs every check that Tidegate has on a
// project: comply, prove, contract and doctor.
//   W1. Nothing is overwritten.
//   W2. The workflow names the pipeline, the producers and the Terraform folder that exist now. The
//       doctor fails if a later producer has no compliance test (TGD094), so none is forgotten.
//   W3. Actions are pinned by digest, and the job may only read.
//   W4. The contract is compared once the project has stored one. Until then the step is skipped.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { ensureFolder } from "../../run/open/ensure-folder.ts";
import { readProject } from "../doctor/project-files.ts";

export const WORKFLOW = ".github/workflows/event-driven-ingestion-safety-checks.yml";

const CHECKOUT = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2";
const SETUP_NODE = "actions/setup-node@49933ea5288caeca8642d1e84afbd3f7d6820020 # v4.4.0";
const PIPELINE = "pipeline.ts";
/** W4 */
const CONTRACT = "contract.json";
const TERRAFORM_FOLDERS = ["infra", "terraform"];
/** A module that `tidegate comply` can load. */
const PRODUCER = /["']tidegate\/produce["']/;
const EXPORTED = /export default|export (async )?function produce\b|export const produce\b/;
const TEST = /\.(test|spec)\.[mc]?[jt]s$/;

/** Writes the workflow into the project in `folder` and returns its name (W1). */
export function writeWorkflow(folder: string): string {
  const path = join(folder, WORKFLOW);
  if (!existsSync(join(folder, PIPELINE))) {
    throw refusal(`${folder} has no ${PIPELINE}; create the project first: tidegate init`);
  }
  if (existsSync(path)) throw refusal(`${folder} already has ${WORKFLOW}; nothing was written`);
  ensureFolder("project", dirname(path));
  try {
    writeFileSync(path, workflowText(folder), { flag: "wx" });
  } catch (cause) {
    throw refusal(`cannot write ${path}: ${reasonOf(cause)}`, cause);
  }
  return WORKFLOW;
}

function workflowText(folder: string): string {
  const terraform = TERRAFORM_FOLDERS.find((name) => hasTerraform(join(folder, name)));
  const doctor = `npx tidegate doctor ${PIPELINE}${terraform === undefined ? "" : ` --terraform ${terraform}`}`;
  const producers = producersIn(folder);
  return `# Checks of event-driven ingestion. Written by \`tidegate init --ci\`; change it as you like.
name: event-driven ingestion safety checks
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  safety:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - uses: ${CHECKOUT}
      - uses: ${SETUP_NODE}
        with:
          node-version: 24
      - run: npm ci
      - name: tests
        run: npm test
${complySteps(producers)}      - name: prove, that the handler survives crashes and duplicates
        run: npx tidegate prove ${PIPELINE}
      # Runs once you have stored a contract: npx tidegate contract show ${PIPELINE} > ${CONTRACT}
      - name: contract, that what was accepted before is still accepted, keyed and masked
        if: hashFiles('${CONTRACT}') != ''
        run: npx tidegate contract diff ${PIPELINE} --against ${CONTRACT}
      # It fails on errors, and so if a producer has no compliance test.
      - name: doctor, on settings and code
        run: ${doctor}
`;
}

function complySteps(producers: readonly string[]): string {
  if (producers.length === 0) {
    return "      # The project had no producers: add a step with tidegate comply for each new one.\n";
  }
  return producers
    .map((file) => `      - name: comply, ${file}\n        run: npx tidegate comply ${file}\n`)
    .join("");
}

function producersIn(folder: string): readonly string[] {
  return readProject(folder)
    .code.filter(({ file, text }) => {
      return !TEST.test(file) && PRODUCER.test(text) && EXPORTED.test(text);
    })
    .map(({ file }) => relative(folder, file) || basename(file));
}

function hasTerraform(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".tf"));
}

function refusal(message: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_CONFIG_INVALID", message, { cause });
}
