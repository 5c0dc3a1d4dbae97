import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { SCALAR_TYPES } from "../../src/core/table-spec.ts";
import { tables } from "../../src/ingest/spec/define-pipeline.ts";
import { POSTGRES, SQLITE } from "../../src/sinks/table/databases/dialect.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/sinks.md"), "utf8");
const folder = useTemporaryFolder("docs-sinks");

/** Runs a program that has the default export of an example as `pipeline`. */
function run(example: string, program: string): string {
  const source = `import pipeline from ${JSON.stringify(join(root, example))};\n${program}`;
  const args = ["--conditions=tidegate-source", "--input-type=module", "-e", source];
  const env = { ...process.env, SEARCH_DB: join(folder, "search.db") };
  return execFileSync(process.execPath, args, { cwd: root, env, encoding: "utf8" });
}

test("the pipeline of the guide upserts orders and their lines", () => {
  const output = run(
    "examples/order-tables.ts",
    `const rows = [];
    const order = { id: "1", customer: "c", total: 2.5, lines: [{ article: "a", pieces: 2 }] };
    const event = { text: async () => JSON.stringify(order) };
    await pipeline.handler(event, { upsert: (table, row) => rows.push([table, row]) });
    console.log(JSON.stringify(rows));`,
  );
  expect(JSON.parse(output)).toEqual([
    ["orders", { id: "1", customer: "c", total: 2.5 }],
    ["order_lines", { order_id: "1", line: 0, article: "a", pieces: 2 }],
  ]);
});

test("the sink function of the guide tolerates a second call and a late one", () => {
  run(
    "examples/own-sink.ts",
    `const { signal } = new AbortController();
    const call = (fence, text) => pipeline.sink([text], { key: "k", fence, object: null, signal });
    call(5, "dead"); call(6, "alive"); call(6, "alive"); call(5, "zombie");`,
  );
  const db = new DatabaseSync(join(folder, "search.db"));
  const rows = db.prepare("SELECT record, fence, text FROM found").all();
  db.close();
  expect(rows.map((row) => ({ ...row }))).toEqual([{ record: "k", fence: 6, text: "alive" }]);
});

test("the guide lists the options of tables, with their defaults", () => {
  const spec: object = tables({ t: { columns: { id: "text" }, key: ["id"] } });
  const { kind: _, tables: __, database: ___, ...choices } = spec as Record<string, unknown>;
  const listed = rowsOf(page, "option").map(([name, value]) => [name, value]);
  expect(listed[0]?.[0]).toBe("`database`");
  expect(listed.slice(1)).toEqual(
    Object.entries(choices).map(([name, value]) => [`\`${name}\``, `\`"${value}"\``]),
  );
});

test("the guide lists every column type with its SQL types", () => {
  const listed = rowsOf(page, "column").map(([name, , sqlite, postgres]) => [
    name,
    sqlite,
    postgres,
  ]);
  const types = SCALAR_TYPES.map((name) => {
    const facts = { scalar: name, isArray: false, digits: null };
    const native = [SQLITE.nativeType(facts), POSTGRES.nativeType(facts)];
    return [name, ...native].map((word) => `\`${word}\``);
  });
  expect(listed).toEqual(types);
});
