import { describe, expect, test } from "vitest";
import { findPart, judge, type Part, probes, type Run, requirePart } from "./requires.ts";

/** A machine where only these commands exist, each with its output. */
function machine(answers: Record<string, string>): Run {
  return (command) => answers[command];
}

const old = "aws-cli/1.45.11 Python/3.11.7 Linux/6.1 botocore/1.43.11";
const current = "aws-cli/2.9.19 Python/3.11.2 Linux/6.1 source/x86_64.debian.12";

describe("finding a part", () => {
  const aws = probes({})["aws-cli"];

  test("version 1 of the AWS CLI earlier on the PATH does not hide version 2", () => {
    expect(findPart(aws, machine({ aws: old, "/usr/bin/aws": current }))).toBe("/usr/bin/aws");
  });

  test("version 1 alone does not count as the AWS CLI", () => {
    expect(findPart(aws, machine({ aws: old }))).toBeUndefined();
  });

  test("the command named by the environment is tried first", () => {
    const chosen = probes({ TIDEGATE_AWS_CLI: "/opt/aws/v2" })["aws-cli"];
    expect(findPart(chosen, machine({ aws: current, "/opt/aws/v2": current }))).toBe("/opt/aws/v2");
  });

  test("a compiler for another system than Linux does not count", () => {
    expect(findPart(probes({}).cc, machine({ cc: "arm64-apple-darwin24.6.0" }))).toBeUndefined();
  });

  test("boto3 is found under Debian's Python when the first Python lacks it", () => {
    const run = machine({ "/usr/bin/python3": "boto3 1.26.27" });
    expect(findPart(probes({}).boto3, run)).toBe("/usr/bin/python3");
  });

  test.each<[Part, string, string]>([
    ["cc", "clang", "x86_64-alpine-linux-musl"],
    ["java", "java", 'openjdk version "17.0.13" 2024-10-15'],
    ["chromium", "chromium", "Chromium 130.0.6723.91 built on Debian 12.7"],
    ["postgres", "/usr/lib/postgresql/15/bin/postgres", "postgres (PostgreSQL) 15.8 (Debian)"],
    ["promtool", "/usr/bin/promtool", "promtool, version 2.42.0+ds (branch: debian/sid)"],
    ["script", "/usr/bin/script", "script from util-linux 2.38.1"],
  ])("%s is recognised by its output only", (part, command, answer) => {
    expect(findPart(probes({})[part], machine({ [command]: answer }))).toBe(command);
    expect(findPart(probes({})[part], machine({ [command]: "command not found" }))).toBeUndefined();
  });
});

describe("whether tests run", () => {
  const advice = /^boto3 is missing: .*python3-boto3/;

  test("they run if the part is installed, whether or not all parts are required", () => {
    expect(judge("java", "java", false)).toEqual({ kind: "run" });
    expect(judge("java", "java", true)).toEqual({ kind: "run" });
  });

  test("a missing part skips them with a note on how to install it", () => {
    const verdict = judge("boto3", undefined, false);
    expect(verdict).toEqual({ kind: "skip", note: expect.stringMatching(advice) });
  });

  test.each<[Part, RegExp]>([
    ["ext4", /^ext4 is missing: .*root/],
    ["cc", /^cc is missing: .*on Linux/],
  ])("%s is skipped if all parts are required only where it cannot be", (part, text) => {
    const note = expect.stringMatching(text);
    const able = machine({ "/bin/sh": "" });
    expect(judge(part, undefined, true, machine({}))).toEqual({ kind: "skip", note });
    expect(judge(part, undefined, true, able)).toEqual({ kind: "fail", note });
    expect(judge(part, undefined, false, able)).toEqual({ kind: "skip", note });
  });

  test("a missing part fails them if all parts are required", () => {
    const verdict = judge("boto3", undefined, true);
    expect(verdict).toEqual({ kind: "fail", note: expect.stringMatching(advice) });
  });
});

describe("aws-cli on this machine", () => {
  const { "aws-cli": aws } = requirePart("aws-cli");

  test("is a command that runs, wherever it is installed", () => {
    expect(aws).not.toBe("aws-cli-is-missing");
  });
});
