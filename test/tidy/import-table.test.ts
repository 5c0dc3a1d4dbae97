import { expect, test } from "vitest";
import { checkImportTable } from "./import-table.ts";
import { ROOMS, roomOf } from "./rooms.ts";
import { parse } from "./source-file.ts";

function messages(path: string, text: string): string[] {
  return checkImportTable([parse(path, text)]).map(({ message }) => message);
}

test.each([
  ["src/core/units.ts", "core"],
  ["src/broker/http.ts", "broker"],
  ["src/broker/wire/sqs/actions/send-message.ts", "broker/wire"],
  ["src/broker/model/fault.ts", "broker/model"],
  ["src/ingest/pipeline.ts", "ingest"],
  ["src/ingest/policy/retry.ts", "ingest/policy"],
  ["src/stores/sqlite/broker/broker-store.ts", "stores/sqlite"],
  ["src/cli/commands/start/up.ts", "cli"],
  ["src/core/units.test.ts", null],
  ["test/support/requires.ts", null],
])("%s belongs to %s", (path, room) => {
  expect(roomOf(path)).toBe(room);
});

test("a part may import what its line lists, and its own files", () => {
  const text = `import { a } from "../../core/units.ts"; import { b } from "./recovery.ts";`;
  expect(messages("src/broker/engine/writer.ts", text)).toEqual([]);
});

test.each([
  `import { a } from "../ingest/pipeline.ts";`,
  `import type { A } from "../ingest/pipeline.ts";`,
  `export { a } from "../ingest/pipeline.ts";`,
  `export * from "../ingest/pipeline.ts";`,
  `const a = await import("../ingest/pipeline.ts");`,
  `import "../ingest/pipeline.ts";`,
])("an import that the table does not list is rejected in any syntax: %s", (text) => {
  expect(messages("src/broker/http.ts", text)).toEqual(["broker may not import ingest"]);
});

test("the wire may import types of the model, but no values", () => {
  const path = "src/broker/wire/answers.ts";
  const rejected = ["broker/wire may import types of broker/model, not values"];
  expect(messages(path, `import type { A } from "../model/queue.ts";`)).toEqual([]);
  expect(messages(path, `import { type A } from "../model/queue.ts";`)).toEqual([]);
  expect(messages(path, `export type { A } from "../model/queue.ts";`)).toEqual([]);
  expect(messages(path, `import { type A, b } from "../model/queue.ts";`)).toEqual(rejected);
  expect(messages(path, `export { b } from "../model/queue.ts";`)).toEqual(rejected);
});

test("the model's faults are the one file whose values the wire may import", () => {
  const text = `import { type Fault, refuse } from "../model/fault.ts";`;
  expect(messages("src/broker/wire/answers.ts", text)).toEqual([]);
  const other = `import { refuse } from "../broker/model/fault.ts";`;
  expect(messages("src/ingest/pipeline.ts", other)).toEqual(["ingest may not import broker/model"]);
});

test("a package that a part's line does not list is rejected, including subpaths", () => {
  const rejected = ["core may not import the package node:fs"];
  expect(messages("src/core/json.ts", `import { open } from "node:fs/promises";`)).toEqual(
    rejected,
  );
  expect(messages("src/stores/sqlite/a.ts", `import { open } from "node:fs/promises";`)).toEqual(
    [],
  );
});

test("only one file of core may import node:crypto", () => {
  const text = `import { createHash } from "node:crypto";`;
  const files = ["src/core/encoding/hash.ts", "src/core/encoding/uuid.ts"].map((path) =>
    parse(path, text),
  );
  expect(checkImportTable(files).map(({ path }) => path)).toEqual(["src/core/encoding/uuid.ts"]);
});

test("a folder that is not in the table is rejected", () => {
  expect(messages("src/stuff/a.ts", "export const a = 1;")).toEqual([
    '"stuff" is not in the import table',
  ]);
});

test("sources may not import tests, tests may import all", () => {
  expect(messages("src/core/a.ts", `import "./a.test.ts";`)).toHaveLength(1);
  expect(messages("src/core/a.test.ts", `import "../cli/main.ts";`)).toEqual([]);
});

test("the table refers only to parts that it has", () => {
  const named = Object.values(ROOMS).flatMap(({ imports, types = [] }) => [...imports, ...types]);
  expect(named.filter((room) => ROOMS[room] === undefined)).toEqual([]);
});
