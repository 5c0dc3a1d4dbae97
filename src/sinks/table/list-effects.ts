// List effects: the objects that wrote rows to a table, from the register of writers (M1 of
// statements.ts), in the order of their keys.
//   E1. Every applied event of an object is registered, with and without rows. So an object that
//       was committed has a row in the register of each table.
//   E2. Texts of the register are compared by bytes, so its index has the order of keys.

import { TidegateError } from "../../core/errors.ts";
import type { TablesSpec } from "../../core/table-spec.ts";
import { epochMs } from "../../core/units.ts";
import { prefixEnd } from "../../ledger/list-records.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { EffectLister, ListedEffect } from "../../ports/effect-lister.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { WRITERS_TABLE } from "./names.ts";

const PAGE_ROWS = 1_000;
const COLUMNS = "object, record_key, event_time, fence";

/** Listers of the tables; empty if the register does not exist yet. */
export async function createTableEffects(
  store: Pick<SinkStore, "read">,
  dialect: "sqlite" | "postgres",
  tables: TablesSpec,
): Promise<EffectLister[]> {
  const read = async (statement: string, params: readonly string[]) => {
    try {
      return await store.read({ statement, params });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const message = `the sink's tables cannot be read: ${reason}`;
      throw new TidegateError("TG_SINK_UNAVAILABLE", message, { cause: error });
    }
  };
  const exists =
    dialect === "sqlite"
      ? await read("SELECT 1 AS one FROM sqlite_master WHERE name = ?", [WRITERS_TABLE])
      : await read("SELECT 1 AS one WHERE to_regclass($1) IS NOT NULL", [WRITERS_TABLE]);
  if (exists.length === 0) return [];
  return Object.keys(tables).map((table) => createLister(read, dialect, table));
}

type Read = (
  statement: string,
  params: readonly string[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

function createLister(read: Read, dialect: "sqlite" | "postgres", table: string): EffectLister {
  const at = (position: number) => (dialect === "postgres" ? `$${position}` : "?");
  const from = `FROM ${WRITERS_TABLE} WHERE table_name = ${at(1)}`;
  const page = `SELECT ${COLUMNS} ${from} AND object > ${at(2)} AND object < ${at(3)}
    ORDER BY object LIMIT ${PAGE_ROWS}`;
  const one = `SELECT ${COLUMNS} ${from} AND object = ${at(2)}`;
  return {
    name: `table ${table}`,
    async list({ bucket, prefix, after }) {
      const root = `s3://${bucket}/`;
      const start = `${root}${prefix}`;
      const end = prefixEnd(start) ?? `${start}\u{10FFFF}`;
      // A key that equals the prefix belongs to it, too.
      const exact = after === null && prefix !== "" ? await read(one, [table, start]) : [];
      const rows = await read(page, [table, after ?? start, end]);
      const effects = [...exact, ...rows].map((row) => effectOf(row, root));
      const last = rows.at(-1);
      return { effects, next: rows.length < PAGE_ROWS ? null : String(last?.object) };
    },
  };
}

function effectOf(row: Readonly<Record<string, unknown>>, root: string): ListedEffect {
  return {
    key: String(row.object).slice(root.length),
    recordKey: asRecordKey(String(row.record_key)),
    eventTime: epochMs(Number(row.event_time)),
    fence: Number(row.fence),
  };
}
