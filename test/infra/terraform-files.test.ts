// Terraform files: the modules and every generated root parse, are formatted, come from the tables,
// and use attributes that the AWS provider has.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "@cdktf/hcl-tools";
import { parse } from "@cdktf/hcl2json";
import { describe, expect, test } from "vitest";
import { TABLE_FILES } from "../../scripts/terraform-tables.ts";
import { rootFiles } from "../../src/infra/root-files.ts";
import { infraFiles } from "../../src/operate/infra/infra-files.ts";
import { INFRA_PLANS } from "../support/infra/plans.ts";
import { requirePart } from "../support/requires.ts";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "infra/terraform/modules");
const MODULE_FILES = globSync("**/*.tf", { cwd: modules }).toSorted();
const textOf = (file: string) => readFileSync(join(modules, file), "utf8");

type Blocks = Readonly<Record<string, Readonly<Record<string, readonly object[]>>>>;

test("all eleven modules are called by one of the plans of these tests", () => {
  const names = new Set(MODULE_FILES.map((file) => file.split("/")[0]));
  const copied = Object.values(INFRA_PLANS).flatMap((plan) => [...infraFiles(plan).keys()]);
  const called = copied.filter((path) => path.startsWith("modules/"));
  expect(new Set(called.map((path) => path.split("/")[1]))).toEqual(names);
  expect(names.size).toBe(11);
});

test.each(Object.keys(TABLE_FILES))("%s is current; run scripts/terraform-tables.ts", (path) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(TABLE_FILES[path]?.());
});

test.each(MODULE_FILES)("%s parses and is formatted", async (file) => {
  const text = textOf(file);
  expect(await parse(file, text)).not.toEqual({});
  expect(await format(text)).toBe(text);
});

describe.each(Object.entries(INFRA_PLANS))("%s", (_, plan) => {
  test("parses, is formatted, and calls only what is copied beside it", async () => {
    const files = infraFiles(plan);
    for (const [path, text] of rootFiles(plan)) {
      expect(await format(text)).toBe(text);
      const { module: calls = {} } = await parse(path, text);
      for (const [call] of Object.values(calls as Record<string, { source: string }[]>)) {
        expect(files.has(`${call?.source.slice(2)}/main.tf`)).toBe(true);
      }
    }
  });

  test("passes every variable that a module requires, and none that it lacks", async () => {
    const files = infraFiles(plan);
    const { module: calls } = await parse("main.tf", files.get("main.tf") ?? "");
    for (const [name, [call]] of Object.entries(
      calls as Record<string, Record<string, unknown>[]>,
    )) {
      const { source, depends_on: _before, ...given } = call ?? {};
      const declared = await variablesIn(
        files.get(`${String(source).slice(2)}/variables.tf`) ?? "",
      );
      const unknown = Object.keys(given).filter((variable) => !(variable in declared));
      expect([name, unknown]).toEqual([name, []]);
      const required = Object.keys(declared).filter((variable) => declared[variable]);
      expect([name, Object.keys(given)]).toEqual([name, expect.arrayContaining(required)]);
    }
  });
});

/** The variables of a module, and whether each is required. */
async function variablesIn(text: string): Promise<Readonly<Record<string, boolean>>> {
  const { variable = {} } = await parse("variables.tf", text);
  const entries = Object.entries(variable as Record<string, object[]>);
  return Object.fromEntries(entries.map(([name, [body]]) => [name, !("default" in (body ?? {}))]));
}

describe("terraform", () => {
  const { terraform } = requirePart("terraform");

  test("finds nothing to format in the modules", async () => {
    const { spawnSync } = await import("node:child_process");
    const run = spawnSync(terraform, ["fmt", "-check", "-recursive", "-diff", modules], {
      encoding: "utf8",
    });
    expect([run.status, run.stdout]).toEqual([0, ""]);
  });
});

test("resources use attributes of the AWS provider only", async () => {
  const schema = JSON.parse(
    readFileSync(join(root, "test/support/infra/provider-attributes.json"), "utf8"),
  ) as { provider: string; attributes: Record<string, string[]> };
  expect(schema.provider).toMatch(/^hashicorp\/aws \d/);
  for (const file of MODULE_FILES.filter((name) => name.endsWith("main.tf"))) {
    const { resource = {} } = (await parse(file, textOf(file))) as { resource?: Blocks };
    for (const [type, named] of Object.entries(resource)) {
      const existing = new Set([...(schema.attributes[type] ?? []), ...META_ARGUMENTS]);
      const used = Object.values(named).flatMap((bodies) => bodies.flatMap(attributesIn));
      expect([type, used.filter((name) => !existing.has(name))]).toEqual([type, []]);
    }
  }
});

const META_ARGUMENTS = ["count", "for_each", "depends_on", "lifecycle", "ignore_changes"];
/** Maps whose keys are free. */
const FREE_MAPS = new Set(["dimensions", "tags"]);

/** Names of attributes and blocks; hcl2json shows a block as a list of objects. */
function attributesIn(body: object): string[] {
  return Object.entries(body).flatMap(([name, value]) => {
    if (name === "dynamic") return dynamicBlocks(value).flatMap(attributesIn);
    if (FREE_MAPS.has(name) || !Array.isArray(value)) return [name];
    const blocks = value.filter((item) => typeof item === "object" && item !== null);
    return [name, ...blocks.flatMap((block) => attributesIn(block))];
  });
}

/** The blocks that `dynamic` makes, as if they were written out. */
function dynamicBlocks(blocks: Readonly<Record<string, readonly { content: object[] }[]>>) {
  return Object.entries(blocks).flatMap(([type, bodies]) =>
    bodies.map(({ content }) => ({ [type]: content })),
  );
}
