import { expect, test } from "vitest";
import type { TableSinkSpec, TablesSpec } from "../../core/table-spec.ts";
import { epochMs } from "../../core/units.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { TableCheck } from "../../ports/row-checker.ts";
import { createRowCheckers } from "./check-rows.ts";
import { createMemoryTables, type MemoryTables } from "./memory-tables.ts";

type Row = Readonly<Record<string, string | number | bigint>>;

const COLUMNS = { id: "bigint", name: "text", price: "real" } as const;

function tablesOf(columns: TablesSpec[string]["columns"]): TableSinkSpec {
  const spec = { columns, key: ["id"] } as TablesSpec[string];
  return { kind: "tables", tables: { item: spec }, database: null, onReplaced: "delete" };
}

function commit({ sink, run }: MemoryTables, rows: readonly Row[], about: string | null): void {
  const object = { bucket: "b", key: about ?? "", sequencer: "1", removed: false };
  const key = asRecordKey(`k1:${(about ?? "m").padStart(64, "0")}`);
  const origin = { key, object: about === null ? null : object, eventTime: epochMs(1) };
  const effects = rows.map((row) => ({ kind: "upsert" as const, table: "item", row }));
  run(sink.plan(effects, origin), { fence: fenceOf(1) });
}

async function check(memory: MemoryTables, { tables } = tablesOf(COLUMNS)): Promise<TableCheck> {
  const [checker] = createRowCheckers(memory.store, "sqlite", tables);
  if (checker === undefined) throw new Error("no table");
  return checker.check(new AbortController().signal);
}

async function prepared(): Promise<MemoryTables> {
  const memory = createMemoryTables(tablesOf(COLUMNS));
  await memory.sink.prepare();
  return memory;
}

async function written(): Promise<MemoryTables> {
  const memory = await prepared();
  commit(memory, [{ id: 1n, name: "x", price: 1 }], "a");
  commit(memory, [{ id: 2n, name: "y", price: 2 }], "c");
  return memory;
}

const SOUND = { digested: 2, undigested: 0, findings: [] };

test("keys beyond 2^53 and large whole numbers are compared, over pages", async () => {
  const memory = await prepared();
  const first = 2n ** 53n + 1n;
  const rows = Array.from({ length: 5_001 }, (_, at) => {
    return { id: first + BigInt(at), name: "x", price: 1e17 };
  });
  commit(memory, rows, "a");
  commit(memory, rows, "c");
  const expected = { ...SOUND, rows: 5_001 };
  expect(await check(memory)).toMatchObject(expected);
  memory.select(`UPDATE item SET name = 'z' WHERE id = ${first + 5_000n}`, []);
  expect((await check(memory)).findings).toMatchObject([{ kind: "changed" }]);
});

test.each([
  ["was dropped", "DROP COLUMN name", { id: "bigint", price: "real" }],
  ["was renamed", "RENAME COLUMN name TO title", { id: "bigint", title: "text", price: "real" }],
] as const)(
  "objects with a column that %s are counted, not found changed",
  async (_, change, columns) => {
    const memory = await written();
    memory.select(`ALTER TABLE item ${change}`, []);
    memory.select(`ALTER TABLE _tg_item_others ${change}`, []);
    const expected = { digested: 0, undigested: 2, findings: [] };
    expect(await check(memory, tablesOf(columns))).toMatchObject(expected);
  },
);

test("objects are compared after a column was added", async () => {
  const memory = await written();
  memory.select("ALTER TABLE item ADD COLUMN note TEXT", []);
  memory.select("ALTER TABLE _tg_item_others ADD COLUMN note", []);
  expect(await check(memory, tablesOf({ ...COLUMNS, note: "text" }))).toMatchObject(SOUND);
});

test.each([
  ["another version", "record_key = 'k1:ff'"],
  ["more rows", "added = true"],
])("an object of which an older release wrote %s is counted, not found changed", async (_, set) => {
  const memory = await written();
  memory.select("UPDATE item SET name = 'new' WHERE id = 1", []);
  expect((await check(memory)).findings).toMatchObject([{ kind: "changed" }]);
  memory.select(`UPDATE tidegate_sink_writers SET ${set} WHERE object = 's3://b/a'`, []);
  expect(await check(memory)).toMatchObject({ digested: 1, undigested: 1, findings: [] });
});

test("rows of messages are counted, as they have no digest", async () => {
  const memory = await written();
  commit(memory, [{ id: 3n, name: "m", price: 3 }], null);
  expect(await check(memory)).toMatchObject({ ...SOUND, rows: 3, ofMessages: 1 });
});
