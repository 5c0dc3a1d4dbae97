// Row lineage: from a row of a table to the record that wrote it, and from an object to its rows.
// Both read the sink's side tables in the ledger's database (docs/internals/table-sink.md).
//   W1. Only the visible row counts: the owner of its key, not what lost against it.
//   W2. A row of an object is found by the object's latest event; a row of a message by its event
//       time and the tie of its record key.
//   W3. A record that the ledger no longer has is reported as unknown, never guessed.
//   W4. The rows of a promoted replay have the rank of the original record and the fence of the
//       replayed one. So the fence of the row says which generation wrote its value. Rows that a
//       quarantine redrive added have another fence; they belong to the original record.

import { TidegateError } from "../../core/errors.ts";
import { addMs, durationMs, epochMs } from "../../core/units.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import type { Ledger, ListedRecord, RecordQuery } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { ownersTable, quotedName, WRITERS_TABLE } from "../../sinks/table/names.ts";
import { rankTie } from "../../sinks/table/rank-tie.ts";
import { SHADOWS_TABLE } from "../../sinks/table/shadow/shadow-statements.ts";

const BOOKKEEPING = /^_tg_/;
const PAGE_ROWS = 500;

/** A row's record: the scope and the listed record; null if the ledger no longer has it (W3). */
export interface RowOrigin {
  readonly scope: LedgerScope;
  readonly listed: ListedRecord;
}

export type FoundRow =
  | { readonly kind: "found"; readonly origin: RowOrigin | null }
  /** No visible row has this key. */
  | { readonly kind: "no-row" }
  /** The ledger's database has no such table of this sink. */
  | { readonly kind: "no-table" };

interface SideTables {
  readonly read: (statement: string, params: readonly string[]) => ReturnType<SinkStore["read"]>;
  readonly placeholder: (at: number) => string;
}

/** The side tables; null if the ledger is not in a database that can have them. */
function sideTables({ sinkStore, sinkDialect }: Ledger): SideTables | null {
  if (sinkStore === null || sinkDialect === null) return null;
  return {
    read: (statement, params) => sinkStore.read({ statement, params, once: true }),
    placeholder: (at) => (sinkDialect === "postgres" ? `$${at}` : "?"),
  };
}

/** The record that wrote the visible row with that key (W1, W2). */
export async function findRowOrigin(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  table: string,
  key: readonly string[],
): Promise<FoundRow> {
  const tables = sideTables(ledger);
  if (tables === null) return { kind: "no-table" };
  const columns = await keyColumns(tables, table);
  if (columns === null) return { kind: "no-table" };
  if (columns.length !== key.length) throw wrongKey(table, columns);
  const where = columns.map((name, at) => `${quotedName(name)} = ${tables.placeholder(at + 1)}`);
  const [owner] = await tables.read(
    `SELECT _tg_writer, _tg_time, _tg_tie, _tg_fence FROM ${quotedName(ownersTable(table))}
      WHERE ${where.join(" AND ")} AND NOT _tg_deleted`,
    key,
  );
  if (owner === undefined) return { kind: "no-row" };
  const { _tg_writer: writer, _tg_time: time, _tg_tie: tie, _tg_fence: fence } = owner;
  const register = await registered(tables, table, String(writer));
  const isOriginal = ({ key: of }: ListedRecord) =>
    register === null ? rankTie(of) === Number(tie) : of === register.key;
  const original = await recordAt(ledger, scopes, Number(time), isOriginal);
  if (original?.listed.record.fence === Number(fence)) return { kind: "found", origin: original };
  const isReplayed = (listed: ListedRecord) =>
    listed.record.fence === Number(fence) && isReplayOf(listed, register?.key ?? null, original);
  const replayed = await recordAt(ledger, scopes, Number(time), isReplayed); // W4
  if (replayed !== null) return { kind: "found", origin: replayed };
  const isNewer = original !== null && Number(fence) > original.listed.record.fence;
  const isUnknown = isNewer && register?.added === false; // W3: another generation wrote it.
  return { kind: "found", origin: isUnknown ? null : original };
}

/** The latest event of that writer, and whether rows were added to it; null for messages. */
async function registered(tables: SideTables, table: string, id: string) {
  if (id === "0") return null;
  const [writer] = await tables.read(
    `SELECT record_key, added FROM ${WRITERS_TABLE}
      WHERE table_name = ${tables.placeholder(1)} AND id = ${tables.placeholder(2)}`,
    [table, id],
  );
  return { key: String(writer?.record_key ?? ""), added: Boolean(writer?.added ?? true) };
}

/** Whether a record is another generation's of the original, which may have expired (W4). */
function isReplayOf(
  { input: { messageId } }: ListedRecord,
  key: string | null,
  original: RowOrigin | null,
): boolean {
  const replayedKey = key ?? original?.listed.key;
  return messageId === `replay ${replayedKey}` || messageId === original?.listed.input.messageId;
}

async function recordAt(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  time: number,
  matches: (listed: ListedRecord) => boolean,
): Promise<RowOrigin | null> {
  const from = epochMs(time);
  const query: RecordQuery = { by: "event-time", from, to: addMs(from, durationMs(1)) };
  for (const scope of scopes) {
    for await (const listed of everyRecord(ledger, scope, query)) {
      if (matches(listed)) return { scope, listed };
    }
  }
  return null; // W3
}

/** A row that an object owns: its table and the values of its key. */
export interface OwnedRow {
  readonly table: string;
  readonly key: readonly string[];
}

/** The visible rows of an object, table by table, in the order of their keys (W1). */
export async function* rowsOfObject(
  ledger: Ledger,
  object: { readonly bucket: string; readonly key: string },
): AsyncGenerator<OwnedRow> {
  const tables = sideTables(ledger);
  if (tables === null || !(await hasTable(tables, WRITERS_TABLE))) return;
  const writers = await tables.read(
    `SELECT table_name, id FROM ${WRITERS_TABLE}
      WHERE object = ${tables.placeholder(1)} ORDER BY table_name`,
    [`s3://${object.bucket}/${object.key}`],
  );
  for (const { table_name, id } of writers)
    yield* ownedRows(tables, String(table_name), String(id));
}

async function* ownedRows(
  { read, placeholder }: SideTables,
  table: string,
  writer: string,
): AsyncGenerator<OwnedRow> {
  const columns = await keyColumns({ read, placeholder }, table);
  if (columns === null) return;
  const names = columns.map(quotedName).join(", ");
  const params = [writer];
  const first = `SELECT ${names} FROM ${quotedName(ownersTable(table))}
    WHERE _tg_writer = ${placeholder(1)} AND NOT _tg_deleted`;
  const after = columns.map((_, at) => placeholder(at + 2)).join(", ");
  const order = `ORDER BY ${names} LIMIT ${PAGE_ROWS}`;
  let page = await read(`${first} ${order}`, params);
  while (page.length > 0) {
    const keys = page.map((row) => columns.map((name) => String(row[name])));
    for (const key of keys) yield { table, key };
    if (page.length < PAGE_ROWS) return;
    page = await read(`${first} AND (${names}) > (${after}) ${order}`, [
      ...params,
      ...(keys.at(-1) ?? []),
    ]);
  }
}

/** Whether the ledger's database has the shadow of that run, and it was promoted. */
export async function hasPromotedShadow(ledger: Ledger, run: string): Promise<boolean> {
  const tables = sideTables(ledger);
  if (tables === null || !(await hasTable(tables, SHADOWS_TABLE))) return false;
  const rows = await tables.read(
    `SELECT 1 AS one FROM ${SHADOWS_TABLE}
      WHERE run = ${tables.placeholder(1)} AND state = 'promoted'`,
    [run],
  );
  return rows.length > 0;
}

/** The key columns of a table of the sink; null if it is not one. */
async function keyColumns(tables: SideTables, table: string): Promise<readonly string[] | null> {
  const owners = ownersTable(table);
  if (!(await hasTable(tables, owners))) return null;
  const rows = await tables.read(`SELECT * FROM ${quotedName(owners)} LIMIT 1`, []);
  return Object.keys(rows[0] ?? {}).filter((name) => !BOOKKEEPING.test(name));
}

async function hasTable({ read, placeholder }: SideTables, name: string): Promise<boolean> {
  const sqlite = placeholder(1) === "?";
  const rows = sqlite
    ? await read("SELECT 1 AS one FROM sqlite_master WHERE type = 'table' AND name = ?", [name])
    : await read("SELECT 1 AS one WHERE to_regclass($1) IS NOT NULL", [quotedName(name)]);
  return rows.length > 0;
}

function wrongKey(table: string, columns: readonly string[]): TidegateError {
  const message =
    columns.length === 0
      ? `the table ${table} has no rows yet`
      : `the key of ${table} is ${columns.join(", ")}; write table:KEY, or table:["A","B"]`;
  return new TidegateError("TG_VALUE_INVALID", message);
}
