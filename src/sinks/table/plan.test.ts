import { describe, expect, test } from "vitest";
import { SINK_FENCE } from "../../core/sink-write.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Effect, EffectOrigin } from "../../ports/sink.ts";
import { POSTGRES, SQLITE } from "./dialect.ts";
import { createPlan, EFFECT_BYTES_MAX, EFFECT_ROWS_MAX } from "./plan.ts";

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
  onRemoved: "delete",
  onReplaced: "delete",
};
const MESSAGE: EffectOrigin = { key: asRecordKey("k"), object: null, eventTime: epochMs(5) };
const OBJECT: EffectOrigin = {
  ...MESSAGE,
  object: { bucket: "b", key: "o.csv", sequencer: "0a00", removed: false },
};
const plan = createPlan(SPEC, SQLITE);
const upsert = (row: object, table = "orders") => ({ kind: "upsert", table, row }) as Effect;
const jsonOf = (writes: ReturnType<typeof plan>, at = 0) =>
  JSON.parse(String(writes[at]?.params[0]));

describe("a plan", () => {
  test("of a message is one statement per changed table", () => {
    expect(plan([], MESSAGE)).toEqual([]);
    const effects = [upsert({ id: "b" }), upsert({ id: "a", total: -0 })];
    const writes = plan(effects, MESSAGE);
    expect(writes).toHaveLength(1);
    expect(writes[0]?.params.slice(1)).toEqual(["", 5, "k", SINK_FENCE]);
    expect(jsonOf(writes)).toEqual([
      ["a", 0, null, null, expect.stringMatching(/^[0-9a-f]{32}$/), false],
      ["b", null, null, null, expect.stringMatching(/^[0-9a-f]{32}$/), false],
    ]);
  });

  test("of an object removes the object's earlier rows from every table", () => {
    const writes = plan([upsert({ id: "a" })], OBJECT);
    expect(writes.map(({ statement }) => statement.trim().split(/\s/, 1)[0])).toEqual([
      "INSERT",
      "DELETE",
      "INSERT",
      "DELETE",
    ]);
    expect(writes[0]?.params).toEqual(["s3://b/o.csv", "0A", 5, "k", SINK_FENCE]);
    expect(jsonOf(writes, 1)).toEqual([["a"]]);
    expect(jsonOf(writes, 3)).toEqual([]);
  });

  test("removes nothing where the spec says to keep rows", () => {
    const remaining = createPlan({ ...SPEC, onReplaced: "keep" }, POSTGRES);
    const deletes = (removed: boolean) => {
      const object = { bucket: "b", key: "o.csv", sequencer: null, removed };
      const writes = remaining([upsert({ id: "a" })], { ...OBJECT, object });
      return writes.filter(({ statement }) => statement.startsWith("DELETE")).length;
    };
    expect(deletes(false)).toBe(0);
    expect(deletes(true)).toBe(2);
  });

  test("hashes the values of a row: neither column order nor nulls count", () => {
    const hash = (row: object) => jsonOf(plan([upsert(row)], MESSAGE))[0][4];
    const same = hash({ id: "a", total: 1, paid: null });
    expect(hash({ total: 1, id: "a" })).toBe(same);
    expect(hash({ id: "a", lines: 1 })).not.toBe(same);
    expect(hash({ id: "a", total: 2 })).not.toBe(same);
    const other = createPlan(
      { ...SPEC, tables: { orders: { columns: { total: "real", id: "text" }, key: ["id"] } } },
      SQLITE,
    );
    expect(jsonOf(other([upsert({ id: "a", total: 1 })], MESSAGE))[0][2]).toBe(same);
  });

  test("has the same statements for any rows, so that they stay prepared", () => {
    const first = plan([upsert({ id: "a" })], OBJECT).map(({ statement }) => statement);
    const second = plan([upsert({ id: "b" }), upsert({ id: "c" })], OBJECT);
    expect(second.map(({ statement }) => statement)).toEqual(first);
    expect(first.join()).not.toMatch(/o\.csv/);
  });
});

describe("an invalid row is rejected permanently, with its position", () => {
  test.each([
    [{ id: "a", total: "12" }, /row 2 of table orders: column total is a text/],
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

describe("a record that is too large is rejected with the advice to split the object", () => {
  test("by number of rows", () => {
    const rows = Array.from({ length: EFFECT_ROWS_MAX + 1 }, () => upsert({ id: "a" }));
    expect(plan(rows.slice(1), MESSAGE)).toHaveLength(1);
    expect(() => plan(rows, MESSAGE)).toThrow(/100001 effects.*split the object/);
  });

  test("by bytes, as they are sent", () => {
    const half = "é".repeat(EFFECT_BYTES_MAX / 8);
    expect(plan([upsert({ id: half })], MESSAGE)).toHaveLength(1);
    const rows = [upsert({ id: half }), upsert({ id: `${half}b` })];
    expect(() => plan(rows, MESSAGE)).toThrow(/over 67108864 bytes; split the object/);
  });
});
