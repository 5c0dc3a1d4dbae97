import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { METRICS } from "../../src/produce/metrics.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/producing.md"), "utf8");
const folder = useTemporaryFolder("guide");

const run = (...words: string[]) =>
  execFileSync(process.execPath, ["--conditions=tidegate-source", ...words], {
    cwd: root,
    encoding: "utf8",
  });

test.each(["examples/send-once.ts", "examples/producer.ts", "examples/compliance.test.ts"])(
  "the guide shows %s, word for word",
  (file) => {
    expect(page).toContain(`\`\`\`ts\n${readFileSync(join(root, file), "utf8")}\`\`\``);
  },
);

test("the example sends once and prints what its comments say", () => {
  const output = run("examples/send-once.ts", join(folder, "outbox.db"));
  expect(output).toBe("sent\nalready-sent\nTG_DEDUPE_KEY_REUSED\n");
});

test("the example's producer passes tidegate comply", () => {
  const output = run("src/cli/main.ts", "comply", "examples/producer.ts");
  expect(output).toContain("10 of 10 checks passed.");
});

test("the compliance tests run under node:test", () => {
  const output = run("--test", "--test-reporter=tap", "examples/compliance.test.ts");
  expect(output).toMatch(/^# pass 10$/m);
  expect(output).toMatch(/^# fail 0$/m);
});

test("the guide names metrics and codes that exist", () => {
  const metrics = rowsOf(page, "metric").map(([name]) => name);
  expect(metrics).toEqual(Object.values(METRICS).map((name) => `\`${name}\``));
  const codes = rowsOf(page, "code").map(([code]) => code?.replaceAll("`", "") ?? "");
  for (const code of codes) expect(Object.keys(ERROR_CODES)).toContain(code);
});
