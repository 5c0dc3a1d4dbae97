// Tables that the user made, and columns of every type, on both databases.

import { afterEach, describe, expect, test } from "vitest";
import type { TablesSpec } from "../../src/core/table-spec.ts";
import type { Effect, SinkRow } from "../../src/ports/sink.ts";
import {
  openSink,
  openWorld,
  SINK_MODES,
  type SinkWorld,
  specOf,
  type TestDatabase,
} from "../support/stores/table-sink-world.ts";
import type { TableSinkSubject } from "./table-sink.ts";

const upsert = (table: string, row: SinkRow): Effect => ({ kind: "upsert", table, row });
const state = (object: string, sequencer: string, ...effects: Effect[]) => {
  return { object, sequencer, effects };
};
const ORDERS = { orders: { existing: true, key: ["id"] } } as const;

/** Customers and orders with a default, a foreign key, a check and a trigger. */
async function createOrders({ address, query }: TestDatabase): Promise<void> {
  await query("CREATE TABLE customers (name text PRIMARY KEY)");
  await query("INSERT INTO customers VALUES ('ada'), ('bob')");
  await query(`CREATE TABLE orders (id text NOT NULL, customer text REFERENCES customers (name),
    total integer CHECK (total < 1000), status text DEFAULT 'new')`);
  await query("CREATE UNIQUE INDEX one_order ON orders (id)");
  await query("CREATE TABLE log (id text, total integer)");
  if (address.dialect === "sqlite") {
    await query(`CREATE TRIGGER logging AFTER INSERT ON orders
      BEGIN SELECT CASE WHEN new.total = 666 THEN RAISE(ABORT, 'not this one') END;
      INSERT INTO log VALUES (new.id, new.total); END`);
    return;
  }
  await query(`CREATE FUNCTION logging() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.total = 666 THEN RAISE EXCEPTION 'not this one'; END IF;
    INSERT INTO log VALUES (new.id, new.total); RETURN new; END $$`);
  await query(`CREATE TRIGGER logging AFTER INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION logging()`);
}

export function describeExisting(subject: TableSinkSubject): void {
  describe.each(SINK_MODES)(`an existing table on ${subject.name}, %s`, (mode) => {
    const open: SinkWorld[] = [];
    afterEach(async () => {
      for (const world of open.splice(0)) await world.close();
    });
    const world = async (tables: TablesSpec = ORDERS) => {
      const database = await subject.freshDatabase();
      await createOrders(database);
      const opened = await openWorld(mode, specOf(tables), database);
      open.push(opened);
      return opened;
    };
    const ROWS = "SELECT id, customer, total, status FROM orders ORDER BY id";
    const order = (id: string, customer: string, total: number) =>
      upsert("orders", { id, customer, total });

    test("gets rows with its defaults and triggers, and keeps what the pipeline does not write", async () => {
      const { deliver, query } = await world();
      await query("INSERT INTO orders VALUES ('own', 'bob', 1, 'mine')");
      await deliver({ key: "k1", at: 1, ...state("a.csv", "1", order("1", "ada", 10)) });
      await query("UPDATE orders SET status = 'paid' WHERE id = '1'");
      await deliver({ key: "k2", at: 2, ...state("a.csv", "2", order("1", "bob", 20)) });
      expect(await query(ROWS)).toEqual([
        { id: "1", customer: "bob", total: 20, status: "paid" },
        { id: "own", customer: "bob", total: 1, status: "mine" },
      ]);
      expect(await query("SELECT id, total FROM log WHERE id = '1'")).toHaveLength(1);
    });

    test("shows the next in line when an object is removed, and stays otherwise unchanged", async () => {
      const { deliver, query } = await world();
      await deliver({ key: "k1", at: 1, ...state("a.csv", "1", order("1", "ada", 10)) });
      await deliver({
        key: "k2",
        at: 2,
        ...state("b.csv", "1", order("1", "bob", 20), order("2", "bob", 2)),
      });
      await deliver({ key: "k3", at: 3, object: "b.csv", sequencer: "2", removed: true });
      expect(await query("SELECT id, customer, total FROM orders")).toEqual([
        { id: "1", customer: "ada", total: 10 },
      ]);
    });

    test.each([
      ["a foreign key", order("1", "nobody", 1)],
      ["a check", order("1", "ada", 5_000)],
      ["a trigger that raises an error", order("1", "ada", 666)],
    ])("rejects a record that violates %s, completely", async (_, bad) => {
      const { deliver, query, database } = await world();
      if (database.address.dialect === "sqlite") await query("PRAGMA foreign_keys = ON");
      const delivering = deliver({
        key: "k",
        at: 1,
        ...state("a.csv", "1", order("0", "ada", 1), bad),
      });
      await expect(delivering).rejects.toMatchObject({ code: "TG_SINK_REFUSED", retry: "never" });
      expect(await query(ROWS)).toEqual([]);
    });

    test("rejects a column that the database fills in, with the fix", async () => {
      const { deliver, query } = await world();
      const bad = upsert("orders", { id: "1", status: "paid" });
      await expect(deliver({ key: "k", at: 1, effects: [bad] })).rejects.toThrow(
        /unknown column "status"; .* list it in "columns"/,
      );
      expect(await query(ROWS)).toEqual([]);
      const columns = ["id", "customer", "total", "status"];
      const wider = await world({ orders: { existing: true, key: ["id"], columns } });
      await wider.deliver({ key: "k", at: 1, effects: [bad] });
      expect(await wider.query("SELECT id, status FROM orders")).toEqual([
        { id: "1", status: "paid" },
      ]);
    });

    test.each([
      [{ orders: { existing: true, key: ["customer"] } }, /no unique index on \(customer\); run/],
      [{ orders: { existing: true, key: ["nope"] } }, /orders has no column nope; add it/],
      [
        { orders: { existing: true, key: ["id"], columns: ["id", "tax"] } },
        /orders has no column tax/,
      ],
      [{ absent: { existing: true, key: ["id"] } }, /absent does not exist; create it before/],
    ] as [TablesSpec, RegExp][])("is checked at the start: %#", async (tables, why) => {
      const database = await subject.freshDatabase();
      await createOrders(database);
      const sink = openSink(mode, specOf(tables), database.address);
      const refusal = { code: "TG_CONFIG_INVALID", message: expect.stringMatching(why) };
      await expect(sink.prepare()).rejects.toMatchObject(refusal);
      await sink.close();
    });
  });
}

const TYPES = {
  id: "uuid",
  big: "bigint",
  price: "decimal(12,2)",
  exact: "decimal",
  day: "date",
  at: "timestamp",
  tags: "json",
  body: "bytes",
} as const;
const UUID = "2f0c8a70-2f5b-4b8e-9a59-9a2f4d6f7a10";
const row = (price: string, big: bigint): SinkRow => ({
  id: UUID.toUpperCase(),
  big,
  price,
  exact: "-000.000000000000000000012300",
  day: "2024-02-29",
  at: "2026-02-28T09:30:00.123456+01:00",
  tags: { a: [1, "é", null] },
  body: Uint8Array.of(0, 255, 92, 10),
});

/** The stored row as texts, which do not depend on the driver. */
function shown(dialect: "sqlite" | "postgres"): string {
  const text = dialect === "sqlite" ? (name: string) => name : (name: string) => `${name}::text`;
  const utc = `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  const at = dialect === "sqlite" ? "at" : utc;
  const big = dialect === "sqlite" ? "CAST(big AS TEXT)" : "big::text";
  const hex = dialect === "sqlite" ? "lower(hex(body))" : "encode(body, 'hex')";
  return `SELECT ${text("id")} AS id, ${big} AS big, ${text("price")} AS price,
    ${text("exact")} AS exact, ${text("day")} AS day, ${at} AS moment, ${hex} AS body FROM t`;
}

export function describeTypes(subject: TableSinkSubject): void {
  describe.each(SINK_MODES)(`types on ${subject.name}, %s`, (mode) => {
    test("are stored exactly, and come back exactly when a row wins again", async () => {
      const database = await subject.freshDatabase();
      const spec = specOf({ t: { columns: TYPES, key: ["id"] } });
      const world = await openWorld(mode, spec, database);
      const big = 9_223_372_036_854_775_807n;
      await world.deliver({ key: "k1", at: 1, ...state("a", "1", upsert("t", row("12.50", big))) });
      await world.deliver({ key: "k2", at: 2, ...state("b", "1", upsert("t", row("1", -1n))) });
      await world.deliver({ key: "k3", at: 3, object: "b", sequencer: "2", removed: true });
      const { dialect } = database.address;
      const [stored] = await world.query(shown(dialect));
      expect(stored).toEqual({
        id: UUID,
        big: big.toString(),
        price: dialect === "sqlite" ? "12.5" : "12.50",
        exact: "-0.0000000000000000000123",
        day: "2024-02-29",
        moment: "2026-02-28T08:30:00.123456Z",
        body: "00ff5c0a",
      });
      const tags = await world.query("SELECT tags FROM t");
      const json = tags[0]?.tags;
      expect(typeof json === "string" ? JSON.parse(json) : json).toEqual({ a: [1, "é", null] });
      await world.close();
    });

    test.each([
      [{ price: "1.005" }, /column price is 1.005, which has more than 2 digits after the point/],
      [{ price: "12345678901" }, /more than 10 digits before the point/],
      [{ price: 0.1 }, /is the number 0.1, which may be rounded; pass a text/],
      [{ exact: "1,5" }, /is "1,5", not a decimal/],
      [{ big: 2n ** 63n }, /which is over 64 bits/],
      [{ day: "2026-02-29" }, /not in the calendar/],
      [{ at: "2026-02-28T09:30:00" }, /with an offset/],
      [{ at: "2026-02-28T09:30:00.1234567Z" }, /finer than a microsecond/],
      [{ body: "abc" }, /is a text, not a Uint8Array/],
      [{ id: "42" }, /is "42", not a UUID/],
    ])("reject what would be rounded or guessed: %#", async (bad, why) => {
      const database = await subject.freshDatabase();
      const spec = specOf({ t: { columns: TYPES, key: ["id"] } });
      const world = await openWorld(mode, spec, database);
      const wrong = upsert("t", { ...row("1", 1n), ...bad });
      await expect(world.deliver({ key: "k", at: 1, effects: [wrong] })).rejects.toThrow(why);
      expect(await world.query("SELECT 1 FROM t")).toEqual([]);
      await world.close();
    });
  });
}
