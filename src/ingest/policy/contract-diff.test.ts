import { expect, test } from "vitest";
import { z } from "zod";
import { contractOf } from "../spec/contract-of.ts";
import { pipeline, tables } from "../spec/define-pipeline.ts";
import { type Contract, diffContracts } from "./contract-diff.ts";

const row = z.object({ id: z.string(), amount: z.number().max(10), note: z.string().optional() });

function contract(change: Record<string, unknown> = {}): Contract {
  const spec = {
    name: "orders",
    source: { bucket: "shop", prefix: "in/" },
    schema: row,
    mask: ["payload.person"],
    sink: tables({ orders: { key: ["id"], columns: { id: "text", amount: "real" } } }),
    handler: () => undefined,
    ...change,
  };
  return contractOf(pipeline(spec as never));
}

const verdicts = (after: Contract, before = contract()) =>
  diffContracts(before, after).map(({ path, compatible }) => `${compatible ? "ok" : "no"} ${path}`);

test("a contract compared with itself has no changes", () => {
  expect(diffContracts(contract(), JSON.parse(JSON.stringify(contract())))).toEqual([]);
});

test("a govern rule that is added, changed or removed needs a look", () => {
  const rule = contract({ govern: () => "allow" });
  expect(verdicts(rule)).toEqual(["no policies.govern"]);
  expect(verdicts(contract(), rule)).toEqual(["no policies.govern"]);
  expect(verdicts(contract({ govern: () => "refuse" }), rule)).toEqual(["no policies.govern"]);
  expect(verdicts(contract({ govern: () => "allow" }), rule)).toEqual([]);
  expect(rule.policies.govern).toMatch(/^function sha256:/);
});

test.each([
  ["an optional field", row.extend({ extra: z.string().optional() }), ["ok schema.extra"]],
  ["a wider bound", row.extend({ amount: z.number().max(20) }), ["ok schema.amount.maximum"]],
  ["a field that is no longer required", row.partial({ id: true }), ["ok schema.required"]],
])("a schema that accepts more is compatible: %s", (_, schema, expected) => {
  expect(verdicts(contract({ schema }))).toEqual(expected);
});

test.each([
  [
    "a new required field",
    row.extend({ extra: z.string() }),
    ["ok schema.extra", "no schema.required"],
  ],
  ["another type", row.extend({ id: z.number() }), ["no schema.id.type"]],
  ["a tighter bound", row.extend({ amount: z.number().max(5) }), ["no schema.amount.maximum"]],
  ["a new bound", row.extend({ amount: z.number().min(0).max(10) }), ["no schema.amount.minimum"]],
  ["a pattern", row.extend({ id: z.string().regex(/^a/) }), ["no schema.id.pattern"]],
  ["no further fields", row.strict(), ["no schema.additionalProperties"]],
  ["an enum", row.extend({ id: z.enum(["a"]) }), ["no schema.id.enum"]],
])("a schema that accepts less is incompatible: %s", (_, schema, expected) => {
  expect(verdicts(contract({ schema }))).toEqual(expected);
});

test("a schema that is added is incompatible, one that is removed is compatible", () => {
  expect(verdicts(contract(), contract({ schema: undefined }))).toEqual(["no schema"]);
  expect(verdicts(contract({ schema: undefined }))).toEqual(["ok schema"]);
});

test("a schema that cannot be described is incompatible whenever it is not the same (C1)", () => {
  const schema = z.object({ id: z.date() });
  expect(contract({ schema }).schema).toContain("zod");
  expect(verdicts(contract({ schema }))).toEqual(["no schema"]);
});

test("names, sources, policies and masks that are taken away are incompatible", () => {
  expect(verdicts(contract({ name: "sales" }))).toEqual(["no pipeline"]);
  const source = { bucket: "shop", prefix: "out/" };
  expect(verdicts(contract({ source }))).toEqual(["no source.prefix"]);
  expect(verdicts(contract({ onRemoved: "delete-rows" }))).toEqual(["no policies.onRemoved"]);
  expect(verdicts(contract({ mask: [] }))).toEqual(["no mask"]);
  expect(verdicts(contract({ mask: ["payload.person", "x"] }))).toEqual(["ok mask"]);
  expect(verdicts(contract({ retry: { attempts: 3 } }))).toEqual(["ok retry.attempts"]);
});

test("a key function is recognised by its text", () => {
  const own = (key: unknown) => contract({ schema: undefined, source: { queue: "q", key } });
  const first = own((body: { a: string }) => body.a);
  expect(
    verdicts(
      own((body: { a: string }) => body.a),
      first,
    ),
  ).toEqual([]);
  expect(
    verdicts(
      own((body: { b: string }) => body.b),
      first,
    ),
  ).toEqual(["no source.key"]);
});

test("tables and columns may be added, not removed or retyped", () => {
  const key = ["id"];
  const sink = (columns: Record<string, "text" | "real" | "integer">, more = {}) =>
    contract({ sink: tables({ orders: { key, columns }, ...more } as never) });
  expect(verdicts(sink({ id: "text", amount: "real", extra: "text" }))).toEqual([
    "ok tables.orders.columns.extra",
  ]);
  expect(verdicts(sink({ id: "text" }))).toEqual(["no tables.orders.columns.amount"]);
  expect(verdicts(sink({ id: "text", amount: "integer" }))).toEqual([
    "no tables.orders.columns.amount",
  ]);
  const extra = { more: { key, columns: { id: "text" } } };
  expect(verdicts(sink({ id: "text", amount: "real" }, extra))).toEqual(["ok tables.more"]);
  expect(verdicts(contract({ sink: undefined }))).toContain("no tables.orders");
});
