// Stage: the rows of a large record, stored in chunks before its commit. Each attempt has tables of
// its own, listed in STAGES_TABLE.
//   S1. Nothing of a stage is visible before the record's commit. The commit merges it in one
//       transaction, and only under the fence of the attempt: the merge is part of the commit.
//   S2. A merge fails if the stage is not complete: rows are counted as they are stored, and the
//       count must match. Staged rows need not survive a crash: PostgreSQL does not log them, and
//       SQLite keeps them in a temporary file of the connection, without log and sync. A chunk
//       that runs again, after a lost answer, does not fit the count: its transaction fails, so no
//       row is stored twice or left out.
//   S3. A stage is removed after its commit, by the next attempt at its record, or by a sweep once
//       its attempt is over. A removed stage can only fail a merge (S2), never change its rows.
//   S4. Chunks are short transactions, so that other records commit in between.
//   S5. Of several effects on one row the last counts, also across chunks. SQLite merges the rows
//       of a key in the order of the file. PostgreSQL removes earlier ones at the end.
//   S6. One chunk is being stored while the next is prepared, never two. A chunk that fails is
//       thrown by the next call, and no later chunk is stored.
//   S7. `once` in a write is about the prepared statement, not about how often it runs. Inserts of
//       SQLite are without it: all chunks of a stage share them. Their texts are of one stage only;
//       the cache of the store is bounded and drops them first.
//   S8. A stage with several effects on one row has no digest: only the database knows which rows
//       remain (row-digest.ts).

import { present } from "../../core/assert.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type {
  Effect,
  EffectOrigin,
  RowStaging,
  SinkStore,
  StagedRowsRequest,
} from "../../ports/sink.ts";
import type { Dialect } from "./databases/dialect.ts";
import { createStages, stagesTable } from "./layout.ts";
import { quotedName } from "./names.ts";
import { compileStatements, type TablePlans } from "./plan.ts";
import { RowDigest, type RowTexts } from "./row-digest.ts";
import { checkedRow, keyText, type PlannedRow } from "./rows.ts";
import type { TableShape } from "./shape.ts";
import { listBindings, listSource } from "./sources.ts";
import { removeEarlier, removeStage } from "./stage-removal.ts";
import { stagedInserts } from "./staged-inserts.ts";
import type { RowSource } from "./statements.ts";

const ID_CHARS = 20;

/** What is known about the staged rows of one table. */
interface StagedTable {
  readonly shape: TableShape;
  /** The stage's own table, quoted. */
  readonly relation: string;
  rows: number;
  deletes: boolean;
  /** Whether the keys came in ascending order. */
  ascending: boolean;
  lastKey: string;
  /** Null if the table has none, or if several effects are on one row (S8). */
  digest: RowDigest | null;
}

type StagedTables = Map<string, StagedTable>;

export interface TableStage extends RowStaging {
  merge(origin: EffectOrigin): readonly SinkWrite[];
}

export function createTableStage(
  dialect: Dialect,
  plans: TablePlans,
  store: SinkStore,
  request: StagedRowsRequest,
): TableStage {
  const { key, fence, owner, startedAt } = request;
  const name = JSON.stringify([key, fence, owner, startedAt]);
  const id = sha256Hex(name).slice(0, ID_CHARS);
  const tables: StagedTables = new Map();
  const counts = new Map<string, number>();
  let staged = 0;
  let added = 0;
  let begun = false;
  let storing: Promise<void> = Promise.resolve();

  const keepLast = async (table: StagedTable) => {
    table.digest = null; // S8
    if (dialect.name === "postgres") await removeTwins(dialect, store, id, table, tables); // S5
  };
  return {
    counts,
    async add(effects) {
      const chunk = chunkOf(plans, effects, added + 1);
      if (!begun) await removeEarlier(dialect, store, request); // S3
      const writes = [
        ...(begun ? relaxedWrites(dialect) : listWrites(dialect, id, request)),
        ...chunkWrites(dialect, id, plans, tables, chunk),
      ];
      begun = true;
      const total = rowsIn(tables);
      writes.push(countWrite(dialect, id, tables, { from: staged, to: total }));
      await storing; // S6
      storing = store.run(writes); // S4
      storing.catch(() => undefined); // The next call throws it.
      staged = total;
      added += effects.length;
      countEffects(counts, effects);
    },
    async seal() {
      await storing; // S6
      for (const table of tables.values()) {
        if (!table.ascending && (await hasTwins(store, table))) await keepLast(table);
      }
      if (dialect.name === "postgres") await sealPostgres(store, tables);
      staged = rowsIn(tables);
    },
    merge: (origin) => [
      completeWrite(dialect, id, [...tables.values()], staged),
      ...mergeWrites(dialect, plans, tables, origin),
      expireWrite(dialect, id),
    ],
    async discard() {
      await storing.catch(() => undefined);
      if (begun) await removeStage(dialect, store, { id, relations: relationsIn(tables) });
    },
  };
}

function rowsIn(tables: StagedTables): number {
  return [...tables.values()].reduce((sum, { rows }) => sum + rows, 0);
}

/** Lists the stage, so that others find it if the attempt dies. */
function listWrites(dialect: Dialect, id: string, request: StagedRowsRequest): SinkWrite[] {
  const params = [id, request.key, request.fence ?? 0, request.expiresAt];
  const marks = params.map((_, at) => dialect.param(at + 1, "any")).join(", ");
  const statement = `INSERT INTO ${stagesTable(dialect)} VALUES (${marks}, '', 0)`;
  return [
    { statement: createStages(dialect), params: [], once: true },
    { statement, params },
  ];
}

/**
 * PostgreSQL: a chunk is not waited for until it is on disk, because it need not survive a crash
 * (S2). The first one is waited for, so that every table is listed.
 */
function relaxedWrites({ name }: Dialect): SinkWrite[] {
  if (name !== "postgres") return [];
  return [{ statement: "SET LOCAL synchronous_commit = off", params: [], once: true }];
}

/** From the commit on, the sweep may remove the stage. */
function expireWrite(dialect: Dialect, id: string): SinkWrite {
  const statement = `UPDATE ${stagesTable(dialect)} SET expires_at = 0 WHERE id = ${dialect.param(1, "text")}`;
  return { statement, params: [id] };
}

function chunkWrites(
  dialect: Dialect,
  id: string,
  plans: TablePlans,
  tables: Map<string, StagedTable>,
  chunk: ReadonlyMap<string, readonly PlannedRow[]>,
): SinkWrite[] {
  return [...chunk].flatMap(([name, rows]) => {
    const shape = present(plans.shapes.get(name), "the shape of a table with rows");
    const existing = tables.get(name);
    const table = existing ?? stagedTable(shape, stageRelation(dialect, `${id}_${tables.size}`));
    tables.set(name, table);
    const texts = plans.digests.get(name) ?? null;
    for (const row of rows) noteRow(table, keyText(shape, row), row, texts);
    const fills = stagedInserts(dialect, table, rows);
    return existing === undefined ? [createTable(dialect, table), ...fills] : fills;
  });
}

/** Checked rows by table, in the order of the effects (S5). */
function chunkOf(
  { shapes }: TablePlans,
  effects: readonly Effect[],
  first: number,
): Map<string, PlannedRow[]> {
  const chunk = new Map<string, PlannedRow[]>();
  for (let at = 0; at < effects.length; at += 1) {
    const effect = present(effects[at], "an effect");
    const { shape, row } = checkedRow(shapes, effect, first + at);
    const rows = chunk.get(shape.name);
    if (rows === undefined) chunk.set(shape.name, [row]);
    else rows.push(row);
  }
  return chunk;
}

function stagedTable(shape: TableShape, relation: string): StagedTable {
  const digest = new RowDigest();
  return { shape, relation, rows: 0, deletes: false, ascending: true, lastKey: "", digest };
}

function stageRelation(dialect: Dialect, name: string): string {
  const own = quotedName(`_tg_stage_${name}`);
  return dialect.name === "sqlite" ? `temp.${own}` : own;
}

function noteRow(
  table: StagedTable,
  rowKey: string,
  row: PlannedRow,
  texts: RowTexts | null,
): void {
  if (texts === null) table.digest = null;
  else table.digest?.add(texts.planned(row));
  // The order of texts; for numbers it is a guess, which only costs a sort.
  if (table.ascending && rowKey <= table.lastKey && table.rows > 0) table.ascending = false;
  table.lastKey = rowKey;
  table.deletes ||= row.deleted;
  table.rows += 1;
}

async function sealPostgres(store: SinkStore, tables: StagedTables): Promise<void> {
  for (const table of tables.values()) {
    // The planner needs the number of rows, not the values.
    const sample = "SET LOCAL default_statistics_target = 10";
    const keys = table.shape.keyColumns.map(({ quoted }) => quoted).join(", ");
    const analyze = `ANALYZE ${table.relation} (${keys})`;
    const write = { params: [], once: true, long: true };
    await store.run([
      { ...write, statement: sample },
      { ...write, statement: analyze },
    ]);
  }
}

function relationsIn(tables: StagedTables): string[] {
  return [...tables.values()].map(({ relation }) => relation);
}

function countEffects(counts: Map<string, number>, effects: readonly Effect[]): void {
  for (const effect of effects) {
    const name =
      effect.kind === "custom" || effect.kind === "sql"
        ? effect.kind
        : `${effect.kind} ${effect.table}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

function createTable(dialect: Dialect, { shape, relation }: StagedTable): SinkWrite {
  const isPostgres = dialect.name === "postgres";
  const columns = shape.columns.map(({ quoted, native }) =>
    isPostgres ? `${quoted} ${native}` : quoted,
  );
  const deleted = isPostgres ? "_tg_deleted boolean" : "_tg_deleted";
  const statement = `CREATE ${isPostgres ? "UNLOGGED " : ""}TABLE ${relation}
    (${[...columns, deleted].join(", ")})`;
  return { statement, params: [], once: true };
}

/** Counts rows in the transaction that stores them (S2). */
function countWrite(
  dialect: Dialect,
  id: string,
  tables: StagedTables,
  { from, to }: { readonly from: number; readonly to: number },
): SinkWrite {
  const [p1, p2, p3, p4] = [1, 2, 3, 4].map((at) => dialect.param(at, at < 3 ? "integer" : "text"));
  return {
    statement: `UPDATE ${stagesTable(dialect)} SET staged = ${p1}, tables = ${p4}
      WHERE staged = ${p2} AND id = ${p3} RETURNING id`,
    params: [to, from, id, JSON.stringify(relationsIn(tables))],
    required: "the staged rows of this attempt were removed; it was taken for dead",
  };
}

/** S2 */
function completeWrite(
  dialect: Dialect,
  id: string,
  tables: readonly StagedTable[],
  staged: number,
): SinkWrite {
  const counted =
    dialect.name === "postgres"
      ? tables.map(({ relation }) => `(SELECT count(*) FROM ${relation})`).join(" + ")
      : "staged";
  return {
    statement: `SELECT 1 FROM ${stagesTable(dialect)} WHERE id = ${dialect.param(1, "text")}
      AND staged = ${dialect.param(2, "integer")} AND ${counted} = staged`,
    params: [id, staged],
    required: "the staged rows of this attempt are not complete; they were removed or lost",
    once: true,
    long: true,
  };
}

function mergeWrites(
  dialect: Dialect,
  plans: TablePlans,
  tables: StagedTables,
  origin: EffectOrigin,
): SinkWrite[] {
  const writer = origin.object === null ? "message" : "object";
  return [...plans.shapes].flatMap(([name, shape]) => {
    const table = tables.get(name);
    const source = table === undefined ? listSource(dialect, shape) : stageSource(dialect, table);
    const how = table === undefined ? "small" : "large";
    const statements = compileStatements(dialect, shape, source, writer, how);
    const facts = {
      digest: table === undefined ? noRows(plans, name) : table.digest,
      any: table !== undefined,
      deletes: table?.deletes ?? false,
      bindings: table === undefined ? listBindings(dialect, []) : {},
    };
    return plans.writesOf(name, statements, facts, origin).map(asLong);
  });
}

function noRows(plans: TablePlans, table: string): RowDigest | null {
  return (plans.digests.get(table) ?? null) === null ? null : new RowDigest();
}

function asLong(write: SinkWrite): SinkWrite {
  const { ifRows, ifConflict } = write;
  return {
    ...write,
    once: true,
    long: true,
    ...(ifRows && { ifRows: ifRows.map(asLong) }),
    ...(ifConflict && { ifConflict: ifConflict.map(asLong) }),
  };
}

function stageSource(dialect: Dialect, table: StagedTable): RowSource {
  const keys = table.shape.keyColumns.map(({ quoted }) => `n.${quoted}`).join(", ");
  // Sorted rows fill a tree of keys from left to right; S5
  const sorts = dialect.name === "sqlite" && !table.ascending;
  return { from: `${table.relation} AS n`, order: sorts ? `ORDER BY ${keys}, n.rowid` : "" };
}

/** Whether several staged rows have one key (S5). */
async function hasTwins(store: SinkStore, { relation, shape }: StagedTable): Promise<boolean> {
  const keys = shape.keyColumns.map(({ quoted }) => quoted).join(", ");
  const twins = `SELECT 1 FROM ${relation} GROUP BY ${keys} HAVING count(*) > 1 LIMIT 1`;
  return (await store.read({ statement: twins, params: [] })).length > 0;
}

/** Removes all but the last of the rows with one key (S5). */
async function removeTwins(
  dialect: Dialect,
  store: SinkStore,
  id: string,
  table: StagedTable,
  tables: StagedTables,
): Promise<void> {
  const { relation, shape } = table;
  const keys = shape.keyColumns.map(({ quoted }) => quoted).join(", ");
  const before = rowsIn(tables);
  const [counted] = await store.read({
    statement: `SELECT count(*) AS n FROM (SELECT DISTINCT ${keys} FROM ${relation}) AS d`,
    params: [],
  });
  table.rows = Number(counted?.n);
  const earlier = `DELETE FROM ${relation} WHERE ctid IN (SELECT ctid FROM (SELECT ctid,
    row_number() OVER (PARTITION BY ${keys} ORDER BY ctid DESC) AS nth FROM ${relation}) AS r
    WHERE r.nth > 1)`;
  await store.run([
    { statement: earlier, params: [], once: true, long: true },
    countWrite(dialect, id, tables, { from: before, to: rowsIn(tables) }),
  ]);
}
