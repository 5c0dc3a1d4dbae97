import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { runChild } from "../support/child-process.ts";
import { useEndpoint } from "../support/endpoint.ts";
import { probes, requirePart } from "../support/requires.ts";

const { boto3 } = requirePart("boto3");
const endpoint = useEndpoint();

const scripts = ["python/sqs-checks.py", "python/sns-checks.py", "python/s3-checks.py"].map(
  (name) => join(import.meta.dirname, name),
);

/** The titles of a script's checks, in order. */
function titlesOf(script: string): string[] {
  const checks = readFileSync(script, "utf8").matchAll(/^@check\("(.+)"\)$/gm);
  return [...checks].map(([, title]) => title!);
}

/** Each version of boto3 on this machine once: old ones use the query protocol, new ones JSON. */
function installedVersions(): Map<string, string> {
  const { commands, args } = probes(process.env).boto3;
  const byVersion = new Map<string, string>();
  for (const command of commands) {
    const run = spawnSync(command, args, { encoding: "utf8" });
    const version = run.status === 0 ? run.stdout.trim() : null;
    if (version !== null && !byVersion.has(version)) byVersion.set(version, command);
  }
  return byVersion.size === 0 ? new Map([["boto3", boto3]]) : byVersion;
}

interface Report {
  readonly title: string;
  readonly error: string | null;
}

const runs = [...installedVersions()].flatMap(([version, command]) =>
  scripts.map((script) => [`${version}, ${basename(script)}`, command, script] as const),
);

describe.each(runs)("%s", (_name, command, script) => {
  let reports: Promise<Report[]> | null = null;
  const run = async (): Promise<Report[]> => {
    const { exitCode, stdout, stderr } = await runChild(command, [script, endpoint.url]);
    if (exitCode !== 0) throw new Error(`the script ended with ${exitCode}: ${stderr}`);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };

  test.each(titlesOf(script))("%s", async (title) => {
    reports ??= run(); // Runs once, in the first test, so that nothing runs if all are skipped.
    const report = (await reports).find((candidate) => candidate.title === title);
    expect(report).toEqual({ title, error: null });
  });
});
