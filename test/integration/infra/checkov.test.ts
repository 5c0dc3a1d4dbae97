// checkov finds no security mistake in the modules and in generated roots. An exception is a
// comment in the resource, with its reason.

import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findCheckov } from "../../../scripts/checkov.ts";
import { infraFiles } from "../../../src/operate/infra/infra-files.ts";
import { needsFullSize } from "../../support/full-size.ts";
import { INFRA_PLANS } from "../../support/infra/plans.ts";
import { reportMissing } from "../../support/requires.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const modules = join(import.meta.dirname, "../../../infra/terraform/modules");
const folder = useTemporaryFolder("checkov");
const checkov = findCheckov();
if (typeof checkov !== "string") reportMissing("checkov", checkov.missing);

interface Report {
  readonly summary: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly results: {
    readonly failed_checks: readonly { readonly check_id: string; readonly resource: string }[];
  };
}

function check(target: string): Report {
  const args = ["-m", "checkov.main", "-d", target, "--framework", "terraform", "-o", "json"];
  const env = { ...process.env, LOG_LEVEL: "ERROR", CHECKOV_RUN_SCA_PACKAGE_SCAN: "false" };
  const options = { encoding: "utf8" as const, env, maxBuffer: 100_000_000 };
  const { stdout } = spawnSync(String(checkov), [...args, "--skip-download"], options);
  return JSON.parse(stdout) as Report;
}

test.runIf(typeof checkov === "string")("checkov has no finding, and would have one", (context) => {
  needsFullSize(context);
  for (const [index, plan] of Object.values(INFRA_PLANS).entries()) {
    for (const [path, text] of infraFiles(plan)) {
      const target = join(folder, `plan-${index}`, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
  }
  const open = 'resource "aws_sqs_queue" "open" {\n  name = "open"\n}\n';
  writeFileSync(join(folder, "plan-0", "open.tf"), open);
  const { results, summary } = check(folder);
  expect(summary.passed).toBeGreaterThan(200);
  const findings = results.failed_checks.map(({ check_id, resource }) => `${check_id} ${resource}`);
  expect(findings).toEqual(["CKV_AWS_27 aws_sqs_queue.open"]);
});

test("every exception has a reason", () => {
  const texts = globSync("**/*.tf", { cwd: modules }).map((file) =>
    readFileSync(join(modules, file), "utf8"),
  );
  const skips = texts.flatMap((text) => [...text.matchAll(/#checkov:skip=(\w+):?(.*)/g)]);
  expect(skips.length).toBeGreaterThan(0);
  for (const [, id, reason = ""] of skips) expect([id, reason.length > 40]).toEqual([id, true]);
});
