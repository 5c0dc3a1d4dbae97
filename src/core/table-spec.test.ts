import { expect, test } from "vitest";
import { TABLE_NAME_CHARS_MAX, type TableSinkSpec, tableProblems } from "./table-spec.ts";

const sink = (tables: unknown, more: object = {}): TableSinkSpec => ({
  kind: "tables",
  tables: tables as TableSinkSpec["tables"],
  database: null,
  onReplaced: "delete",
  ...more,
});
const columns = { id: "text" } as const;
const named = (name: string) => sink({ [name]: { columns, key: ["id"] } });

test("valid tables have no problems", () => {
  expect(tableProblems(named("Observations_2"))).toEqual([]);
  expect(tableProblems(named("x".repeat(TABLE_NAME_CHARS_MAX)))).toEqual([]);
});

test("an existing table may have any name, also with a schema", () => {
  for (const name of ["orders", "sales.Order Lines", "_private"]) {
    expect(tableProblems(sink({ [name]: { existing: true, key: ["id"] } }))).toEqual([]);
  }
});

test.each([
  "",
  'x"; DROP TABLE records; --',
  "x'",
  "x y",
  "x\0",
  "x\n",
  "ü",
  "1x",
  "public.x",
  "_tg_x",
  "tidegate_schema",
  "SQLITE_x",
  "pg_class",
  "x".repeat(TABLE_NAME_CHARS_MAX + 1),
])("neither a table nor a column may be named %j", (name) => {
  expect(tableProblems(named(name))).toHaveLength(1);
  const column = sink({ t: { columns: { id: "text", [name]: "text" }, key: ["id"] } });
  expect(tableProblems(column)).toHaveLength(1);
});

test.each([
  [sink({}), /1 to 64 tables/],
  [sink({ t: { columns: {}, key: ["id"] } }), /1 to 256 columns/],
  [sink({ t: { columns, key: [] } }), /table t needs a key/],
  [sink({ t: { columns, key: ["huh"] } }), /key column huh of table t is not one of its columns/],
  [sink({ t: { columns, key: ["id", "id"] } }), /a key column twice/],
  [sink({ t: { columns: { id: "text", ID: "text" }, key: ["id"] } }), /"ID" occurs twice/],
  [sink({ t: { columns, key: ["id"] }, T: { columns, key: ["id"] } }), /table "T" occurs twice/],
  [sink({ t: { columns: { id: "time" }, key: ["id"] } }), /"time" of column t\.id; use text, int/],
  [sink({ t: { columns: { id: "VARCHAR(9)" }, key: ["id"] } }), /column t\.id; use "text"/],
  [
    sink({ t: { columns: { id: "decimal(2,3)" }, key: ["id"] } }),
    /"decimal\(2,3\)" of column t\.id; use/,
  ],
  [sink({ t: { columns: { id: "json" }, key: ["id"] } }), /key column id .* must not be json/],
  [sink({ t: { columns: { id: "text[]" }, key: ["id"] } }), /must not be text\[\]/],
  [sink({ t: { existing: true, key: [] } }), /table t needs a key/],
  [sink({ "a.b.c": { existing: true, key: ["id"] } }), /a name, or a schema and a name/],
  [sink({ _tg_t: { existing: true, key: ["id"] } }), /reserved prefix/],
  [sink({ t: { existing: true, key: ["id"], columns: ["v"] } }), /key column id .* not one of/],
  [sink({ t: { columns, key: ["id"] } }, { onReplaced: "huh" }), /onReplaced must be/],
  [sink({ t: { columns, key: ["id"] } }, { database: "" }), /database must be/],
])("each problem is described in a sentence: %#", (spec, problem) => {
  expect(tableProblems(spec).join()).toMatch(problem);
});
