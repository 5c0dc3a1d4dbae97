import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readFaultSpecs } from "../../src/broker/wire/faults/fault-specs.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

test.each([
  ["docs/guides/faults.md", "examples/lost-answer.ts", "ts"],
  ["docs/guides/faults.md", "examples/faults.json", "json"],
  ["docs/guides/setup-file.md", "examples/cloud.json", "json"],
  ["docs/guides/sinks.md", "examples/order-tables.ts", "ts"],
  ["docs/guides/sinks.md", "examples/own-sink.ts", "ts"],
  ["docs/guides/sinks.md", "examples/object-sink.ts", "ts"],
  ["docs/guides/jobs.md", "examples/register-batch.ts", "ts"],
  ["docs/guides/lambda.md", "examples/lambda/handler.ts", "ts"],
  ["docs/guides/tasks.md", "examples/tasks/pipeline.ts", "ts"],
  ["docs/guides/tasks.md", "examples/tasks/download.sh", "sh"],
  ["docs/guides/lambda.md", "examples/lambda/handler.test.ts", "ts"],
  ["docs/guides/proving-handlers.md", "examples/unsafe/pipeline.ts", "ts"],
  ["docs/guides/proving-handlers.md", "examples/unsafe/proof.test.ts", "ts"],
])("%s shows %s, word for word", (page, example, language) => {
  expect(read(page)).toContain(`\`\`\`${language}\n${read(example)}\`\`\``);
});

describe("the guide to faults", () => {
  const page = read("docs/guides/faults.md");
  const fault = { target: { queue: "*" }, probability: 1 };

  test("shows a lost response and its duplicate", () => {
    const args = ["--conditions=tidegate-source", "examples/lost-answer.ts"];
    const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(output).toBe("[ 'order 1', 'order 1' ]\n");
  });

  test("shows valid faults", () => {
    expect(readFaultSpecs(JSON.parse(read("examples/faults.json")))).toMatchObject({ ok: true });
  });

  test("lists exactly the kinds and fields of a fault", () => {
    const problems = (value: object) => {
      const answer = readFaultSpecs(value);
      return answer.ok ? "" : answer.fault.join("; ");
    };
    const named = (heading: string) =>
      rowsOf(page, heading).map(([cell = ""]) => cell.replaceAll("`", ""));
    const kinds = /; use one of ([^;]+)/.exec(problems({ ...fault, kind: "none" }))?.[1];
    expect(kinds?.split(/, | and /)).toEqual(named("kind"));
    const fields = /; a fault has ([^;]+)/.exec(problems({ ...fault, huh: 1 }))?.[1];
    expect(fields?.split(/, | and /).sort()).toEqual(named("field").sort());
  });
});

test("the guide to setup files lists every field of the schema", () => {
  const page = read("docs/guides/setup-file.md");
  const schema = JSON.parse(read("docs/reference/schemas/cloud-setup.schema.json")) as {
    $defs: Record<string, { properties?: object }>;
  };
  const fieldsOf = Object.fromEntries(
    rowsOf(page, "list").map(([list = "", fields = ""]) => [
      list.replaceAll("`", "").slice(0, -1),
      new Set([...fields.matchAll(/`([^`]+)`/g)].map(([, name]) => name)),
    ]),
  );
  for (const kind of ["queue", "topic", "subscription", "bucket"]) {
    for (const field of Object.keys(schema.$defs[kind]?.properties ?? {})) {
      expect(fieldsOf[kind], `${kind}.${field}`).toContain(field);
    }
  }
  for (const field of Object.keys(schema.$defs.notification?.properties ?? {})) {
    expect(fieldsOf.bucket, `notification.${field}`).toContain(field);
  }
});

describe("the guide to proving handlers", () => {
  const page = read("docs/guides/proving-handlers.md");

  test("shows the story of the unsafe example, word for word", () => {
    const args = ["src/cli/main.ts", "prove", "examples/unsafe/pipeline.ts"];
    const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(page).toContain(`\`\`\`text\n${stdout}\`\`\``);
    expect(status).toBe(1);
  });

  test("shows a proof that runs under node:test", () => {
    const flags = ["--conditions=tidegate-source", "--test", "--test-reporter=tap"];
    const args = [...flags, "examples/unsafe/proof.test.ts"];
    const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(output).toMatch(/^# pass 1$/m);
  });
});

describe("the guide to Lambda", () => {
  const page = read("docs/guides/lambda.md");
  const names = (heading: string) =>
    rowsOf(page, heading).flatMap(([cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );

  test("lists every setting of the handler, and no other", () => {
    const source = read("src/adapters/lambda/open-lambda.ts");
    const body = /export interface LambdaSettings.*?^}/ms.exec(source)?.[0] ?? "";
    const picked = [...body.matchAll(/^ {4}\| "(\w+)"/gm)].map(([, name]) => name);
    const own = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
    expect(names("Lambda setting").toSorted()).toEqual([...picked, ...own].toSorted());
  });

  test("lists every option of a mapping, and no other", () => {
    const source = read("src/testkit/lambda/event-source-mapping.ts");
    const body = /export interface MappingOptions.*?^}/ms.exec(source)?.[0] ?? "";
    const own = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
    expect(names("mapping option").toSorted()).toEqual(["queue", ...own].toSorted());
  });

  test("shows a test that passes under node:test", () => {
    const flags = ["--conditions=tidegate-source", "--test", "--test-reporter=tap"];
    const args = [...flags, "examples/lambda/handler.test.ts"];
    const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(output).toMatch(/^# pass 1$/m);
  });
});
