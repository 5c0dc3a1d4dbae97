import { describe, expect, test } from "vitest";
import { SINK_FENCE, type SinkWrite } from "../../core/sink-write.ts";
import type { CreatedTableSpec, TableSinkSpec } from "../../core/table-spec.ts";
import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Effect, EffectOrigin } from "../../ports/sink.ts";
import { type Dialect, POSTGRES, SQLITE } from "./databases/dialect.ts";
import { createPlans } from "./plan.ts";
import { createdShape } from "./shape.ts";

const SPEC: TableSinkSpec = {
  kind: "tables",
  tables: {
    orders: {
      columns: { id: "text", total: "real", lines: "integer", paid: "boolean" },
      key: ["id"],
    },
    lines: { columns: { id: "text", line: "integer" }, key: ["id", "line"] },
  },
  database: null,
  onReplaced: "delete",
};
const MESSAGE: EffectOrigin = { key: asRecordKey("k"), object: null, eventTime: epochMs(5) };
const OBJECT: EffectOrigin = {
  ...MESSAGE,
  object: { bucket: "b", key: "o.csv", sequencer: "0a00", removed: false },
};

function planOf(spec: TableSinkSpec, dialect: Dialect) {
  const shapes = Object.entries(spec.tables).map(
    ([name, table]) => [name, createdShape(dialect, name, table as CreatedTableSpec)] as const,
  );
  return createPlans(spec, dialect, new Map(shapes)).plan;
}

const plan = planOf(SPEC, SQLITE);
const upsert = (row: object, table = "orders") => ({ kind: "upsert", table, row }) as Effect;
const verbs = (writes: readonly SinkWrite[]) =>
  writes.map(({ statement }) => statement.trim().split(/\s/, 1)[0]);

describe("a plan", () => {
  test("of a message claims its rows and writes them, and settles open keys only if there are any", () => {
    expect(plan([], MESSAGE)).toEqual([]);
    const writes = plan([upsert({ id: "b", total: -0 })], MESSAGE);
    expect(verbs(writes)).toEqual(["INSERT", "INSERT", "SELECT"]);
    expect(writes[2]?.ifRows?.length).toBeGreaterThan(5);
    expect(writes[0]?.params).toContain(SINK_FENCE);
    expect(writes[1]?.params.slice(0, 2)).toEqual(["b", 0]);
  });

  test("has the rows of several effects in key order, each once", () => {
    const effects = [upsert({ id: "b" }), upsert({ id: "a" }), upsert({ id: "b", total: 2 })];
    const rows = plan(effects, MESSAGE)[0]?.params.find((param) => String(param).startsWith("[["));
    expect(JSON.parse(String(rows))).toEqual([
      ["a", null, null, null, 0],
      ["b", 2, null, null, 0],
    ]);
  });

  test("of an object depends on its registration in every table", () => {
    const writes = plan([upsert({ id: "a" })], OBJECT);
    expect(verbs(writes)).toEqual(["INSERT", "INSERT"]);
    const digest = expect.stringMatching(/^[0-9a-f]{64}\.[0-9a-f]+\.k$/);
    const params = ["s3://b/o.csv", "0A", 5, "k", SINK_FENCE, 1, digest];
    expect(writes[0]?.params).toEqual(params);
    expect(verbs(writes[0]?.ifRows ?? [])).toEqual(["SELECT", "INSERT", "INSERT", "SELECT"]);
    expect(verbs(writes[0]?.ifRows?.[0]?.ifRows ?? [])).toEqual(["DELETE", "UPDATE"]);
    expect(verbs(writes[1]?.ifRows ?? [])).toEqual(["SELECT", "SELECT"]);
  });

  test("on PostgreSQL is one round trip for a message, three for an object", () => {
    const onPostgres = planOf(SPEC, POSTGRES);
    expect(verbs(onPostgres([upsert({ id: "a" })], MESSAGE))).toEqual(["WITH"]);
    const [orders] = onPostgres([upsert({ id: "a" })], OBJECT);
    expect(verbs(orders?.ifRows ?? [])).toEqual(["SELECT", "WITH"]);
  });

  test("removes nothing where the spec says to keep rows", () => {
    const remaining = planOf({ ...SPEC, onReplaced: "keep" }, SQLITE);
    const sweeps = (removed: boolean) => {
      const object = { bucket: "b", key: "o.csv", sequencer: null, removed };
      const [write] = remaining([upsert({ id: "a" })], { ...OBJECT, object });
      return write?.ifRows?.[0]?.statement.startsWith("SELECT 1 WHERE EXISTS");
    };
    expect(sweeps(false)).toBe(false);
    expect(sweeps(true)).toBe(true);
  });

  test("has the same statements for any rows, so that they stay prepared", () => {
    const all = (writes: readonly SinkWrite[]): string[] =>
      writes.flatMap(({ statement, ifRows = [] }) => [statement, ...all(ifRows)]);
    const first = all(plan([upsert({ id: "a" }), upsert({ id: "x" })], OBJECT));
    expect(all(plan([upsert({ id: "b" }), upsert({ id: "c" })], OBJECT))).toEqual(first);
    expect(first.join()).not.toMatch(/o\.csv/);
  });
});

describe("an invalid row is rejected permanently, with its position", () => {
  test.each([
    [{ id: "a", total: "12" }, /row 2 of table orders: column total is a text, not .*: use Number/],
    [{ id: "a", total: Number.NaN }, /column total is NaN, not a finite number/],
    [{ id: "a", total: Number.POSITIVE_INFINITY }, /total is Infinity/],
    [{ id: "a", lines: 1.5 }, /column lines is 1.5, not a safe integer/],
    [{ id: "a", lines: 2 ** 53 }, /lines is 9007199254740992, not a safe integer/],
    [{ id: "a", lines: 1n }, /lines is a bigint, not an integer/],
    [{ id: "a", paid: 1 }, /column paid is a number, not a boolean/],
    [{ id: "a\0b" }, /column id contains a NUL character/],
    [{ id: "\ud800" }, /column id is not well-formed Unicode/],
    [{ id: new Date(0) }, /column id is an object, not a text/],
    [{ id: null }, /key column id is missing/],
    [{ total: 1 }, /key column id is missing/],
    [{ id: "a", huh: 1 }, /unknown column "huh"/],
    [{ id: "a", constructor: 1 }, /unknown column "constructor"/],
    [null, /a row must be an object/],
  ])("%#", (row, message) => {
    const planning = () => plan([upsert({ id: "fine" }), upsert(row as never)], MESSAGE);
    expect(planning).toThrow(expect.objectContaining({ code: "TG_SINK_REFUSED" }));
    expect(planning).toThrow(message);
  });

  test("effects without a table or key, and effects that are not for tables", () => {
    const refused = (effect: Effect) => () => plan([effect], MESSAGE);
    expect(refused(upsert({ id: "a" }, "toString"))).toThrow(/row 1.*unknown table/);
    expect(refused({ kind: "custom", value: 1 })).toThrow(/upserts and deletes/);
    const more = { kind: "delete", table: "orders", key: { id: "a", total: 1 } } as const;
    expect(refused(more)).toThrow(/total is not a key column/);
    expect(refused({ kind: "delete", table: "lines", key: { id: "a" } })).toThrow(
      /line is missing/,
    );
  });
});
