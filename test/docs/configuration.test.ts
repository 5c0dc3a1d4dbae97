import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DEFAULTS, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import { SETTINGS, type Setting } from "../../src/run/config.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/configuration.md"), "utf8");
const SPECS = ["pipeline-spec", "own-source", "event-facts", "frozen-values"].map(
  (name) => `src/ingest/spec/${name}.ts`,
);
const source = [...SPECS, "src/core/table-spec.ts", "src/core/csv-format.ts"]
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");
const bare = (cell = "") => cell.replaceAll("`", "");

/** The members of an interface of pipeline files. */
function membersOf(name: string): string[] {
  const body = new RegExp(`^export interface ${name}\\b.*?^}`, "ms").exec(source)?.[0] ?? "";
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member = ""]) => member);
}

/** Field and default of each row below a heading of the page. */
function defaultsIn(heading: string): Map<string, string> {
  const section = page.slice(page.indexOf(heading));
  return new Map(
    rowsOf(section, "field").map(([field, fallback]) => [bare(field), bare(fallback)]),
  );
}

test("the page lists exactly the settings of the code", () => {
  const code = (text: string) => `\`${text}\``;
  const expected = Object.entries<Setting>(SETTINGS).map(([name, setting]) => {
    const { flag, env, fallback, devFallback, commands, doc } = setting;
    const defaults = [
      ...(fallback === null ? [] : [code(fallback)]),
      ...(devFallback === undefined ? [] : [`dev: ${code(devFallback)}`]),
    ];
    return [
      code(`--${flag}`),
      code(env),
      defaults.join(", "),
      commands.join(", "),
      doc,
      code(name),
    ];
  });
  expect(rowsOf(page, "flag")).toEqual(expected);
});

describe("the page on the pipeline file", () => {
  const fields = defaultsIn("## The pipeline file");
  const inner = defaultsIn("Within `retry`");

  test("lists exactly the fields of a file, in order", () => {
    expect([...fields.keys()]).toEqual(membersOf("PipelineSpec"));
  });

  test("lists exactly the fields within fields", () => {
    const within = (prefix: string, ...names: string[]) =>
      [...new Set(names.flatMap(membersOf))].map((member) => `${prefix}.${member}`);
    const options = Object.keys(tables({})).filter((name) => name !== "kind" && name !== "tables");
    expect([...inner.keys()]).toEqual([
      ...within("retry", "RetrySpec"),
      ...within("concurrency", "ConcurrencySpec"),
      ...within("eventTime", "EventTimeSpec"),
      ...within("retention", "RetentionSpec"),
      ...within("frozen", "FrozenSpec"),
      ...within("source", "BucketSource", "QueueSource", "OwnSource"),
      ...within("csv", "CsvOptions"),
      ...within("table", "CreatedTableSpec", "ExistingTableSpec"),
      ...options.map((name) => `tables.${name}`),
    ]);
  });

  test("shows the defaults of a minimal file", () => {
    const made = pipeline({ name: "p", source: { queue: "q" }, handler() {} });
    const { concurrency, source: from, ...top } = made;
    const { retry, eventTime, retention, frozen } = made;
    const groups = Object.entries({ retry, eventTime, retention, frozen });
    const values = new Map<string, unknown>([
      ...Object.entries(top).filter(([name]) => groups.every(([group]) => group !== name)),
      ...groups.flatMap(([group, each]) =>
        Object.entries(each).map(([name, value]) => [`${group}.${name}`, value] as const),
      ),
      ["concurrency.total", concurrency.total],
      ["source.contents", from.contents],
      ["source.prefix", from.prefix],
      ...Object.entries(tables({})).map(([name, value]) => [`tables.${name}`, value] as const),
    ]);
    const defaults = new Map([...fields, ...inner]);
    const checked = [...values].filter(([name, value]) => defaults.has(name) && value !== null);
    const own = new Set(["name", "handler"]); // These were given above.
    for (const [name, value] of checked) {
      if (own.has(name)) continue;
      expect([name, defaults.get(name)]).toEqual([name, JSON.stringify(value)]);
    }
    expect(checked.length).toBeGreaterThan(Object.keys(DEFAULTS).length);
  });

  test("shows every value of DEFAULTS", () => {
    for (const [name, value] of Object.entries(DEFAULTS)) {
      const path = { concurrency: "concurrency.total" }[name] ?? name;
      const groups = ["retry", "eventTime", "retention"].map((group) => `${group}.${path}`);
      const shown = [path, ...groups].map((at) => fields.get(at) ?? inner.get(at)).find(Boolean);
      expect([name, shown]).toEqual([name, String(value)]);
    }
  });
});
