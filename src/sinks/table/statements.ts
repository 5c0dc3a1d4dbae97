// Statements: the SQL that keeps a table at the winner of each key, whatever the order of arrival.
// One text per table, kind of writer and kind of source; the rows are parameters or a staged table.
//   M1. An object's event takes effect only if no newer event of that object did: by sequencer
//       where both have one, else by event time; between attempts at one event by fence. The
//       condition is in `register`, so that a late or zombie writer changes nothing.
//   M2. The owners table has one row per key: the writer whose row is visible, with its rank (event
//       time, then record key). All messages together are one writer. The others table has the rows
//       of all other writers of a key, with their values.
//   M3. A write is decided on locked rows of the owners table. `claim` locks every key that it
//       names. A key with another owner, or with a lower rank than before, is opened.
//   M4. `elect` settles open keys: the old owner and the writer join the others, the highest rank
//       becomes the owner, and the user's table gets its values. No key stays open after it.
//   M5. A row with the same values is not written again.
//   M6. PostgreSQL: an election that makes another writer the owner locks its row in the register
//       first. The writer's own event holds that lock, so it sees where all of its rows are.
//   M7. The register says whether rows were added to the registered event. Fences cannot: they
//       follow the clocks of consumers, and order the attempts at one record only.
//   M8. The register has count and digest of the rows that a writer has, visible or not, so that
//       no election changes them. They are NULL where rows of several events are mixed: after rows
//       were added, and where replaced events keep their rows.

import type { TableColumn } from "./column.ts";
import type { Dialect } from "./databases/dialect.ts";
import {
  literal,
  openIndex,
  othersTable,
  ownersTable,
  quotedName,
  WRITERS_TABLE,
} from "./names.ts";
import type { TableShape } from "./shape.ts";
import { named } from "./template.ts";

export type WriterKind = "object" | "message";

/** Rows as a relation `n`: the columns of the table and `_tg_deleted`. */
export interface RowSource {
  readonly from: string;
  /** Ends the reading of it: PostgreSQL locks rows in this order. */
  readonly order: string;
}

/** The number of the writer that all messages share. */
export const MESSAGES = "0";
export const RANK = ["_tg_time", "_tg_tie", "_tg_fence"] as const;
export const OWNER = ["_tg_writer", ...RANK, "_tg_deleted"] as const;

/** The parameters of a registration. */
const WRITER = ["object", "sequencer", "time", "key", "fence"] as const;

/** What the register has of the rows that the writer stored last (M8). */
export const DIGEST = ["row_count", "row_digest"] as const;

/**
 * M1. Returns a row if the event is the newest of its object. `replaces`: the event's rows are all
 * that its object has, so that their digest is that of the writer (M8).
 */
export function registerTemplate(table: string, replaces: boolean): string {
  const columns = ["sequencer", "event_time", "record_key", "fence", "added"];
  // An event without a sequencer keeps the stored one.
  const sequencer = "CASE excluded.sequencer WHEN '' THEN w.sequencer ELSE excluded.sequencer END";
  const others = columns.slice(1).map((name) => `${name} = excluded.${name}`);
  const digest = DIGEST.map((name) => `${name} = ${replaces ? `excluded.${name}` : "NULL"}`);
  return `INSERT INTO ${WRITERS_TABLE} AS w
    (table_name, object, ${[...columns, ...DIGEST].join(", ")})
    VALUES (${literal(table)}, ${WRITER.map(named).join(", ")}, false, ${digestParams()})
    ON CONFLICT (table_name, object) DO UPDATE
    SET ${[`sequencer = ${sequencer}`, ...others, ...digest].join(", ")}
    WHERE CASE
      WHEN w.sequencer <> '' AND excluded.sequencer <> '' AND w.sequencer <> excluded.sequencer
      THEN excluded.sequencer > w.sequencer
      ELSE (excluded.event_time, excluded.fence) >= (w.event_time, w.fence) END
    RETURNING id`;
}

/** Returns a row if no newer event was applied than the one that rows are added to (M7). */
export function joinTemplate(table: string): string {
  return `INSERT INTO ${WRITERS_TABLE} AS w
    (table_name, object, sequencer, event_time, record_key, fence, added, ${DIGEST.join(", ")})
    VALUES (${literal(table)}, ${WRITER.map(named).join(", ")}, true, ${digestParams()})
    ON CONFLICT (table_name, object) DO UPDATE
    SET added = true, ${DIGEST.map((name) => `${name} = NULL`).join(", ")}
    WHERE CASE WHEN w.sequencer <> '' AND excluded.sequencer <> ''
      THEN w.sequencer <= excluded.sequencer
      ELSE w.event_time <= excluded.event_time END
    RETURNING id`;
}

function digestParams(): string {
  return DIGEST.map(named).join(", ");
}

export interface StatementParts {
  readonly dialect: Dialect;
  readonly shape: TableShape;
  readonly source: RowSource;
  readonly writer: WriterKind;
}

export function sameKeys(a: string, b: string, columns: readonly TableColumn[]): string {
  return columns.map(({ quoted }) => `${a}.${quoted} = ${b}.${quoted}`).join(" AND ");
}

export function listColumns(columns: readonly TableColumn[], alias = ""): string {
  const prefix = alias === "" ? "" : `${alias}.`;
  return columns.map(({ quoted }) => `${prefix}${quoted}`).join(", ");
}

export function aliasedNames(names: readonly string[], alias: string): string {
  return names.map((name) => `${alias}.${name}`).join(", ");
}

function writerOf({ shape, writer }: StatementParts): string {
  return writer === "message" ? MESSAGES : objectWriter(shape);
}

function objectWriter(shape: TableShape): string {
  return `(SELECT w.id FROM ${WRITERS_TABLE} AS w
    WHERE w.table_name = ${literal(shape.name)} AND w.object = ${named("object")})`;
}

/** Returns a row if the object has rows from an earlier event. */
export function ownedTemplate(shape: TableShape): string {
  const writer = objectWriter(shape);
  const exists = (table: string) => `SELECT 1 FROM ${table}
    WHERE _tg_writer = ${writer} AND _tg_writer <> ${MESSAGES}`;
  return `SELECT 1 WHERE ${sideTables(shape)
    .map((table) => `EXISTS (${exists(table)})`)
    .join(" OR ")}`;
}

/** Opens the keys that the object had and no longer has; its other rows are forgotten. */
export function sweepTemplates(parts: StatementParts): string[] {
  const { shape, source } = parts;
  const [owners, others] = sideTables(shape);
  const writer = writerOf(parts);
  const own = `SELECT ${listColumns(shape.keyColumns, "c")} FROM ${owners} AS c
    WHERE c._tg_writer = ${writer} AND c._tg_writer <> ${MESSAGES}`;
  return [
    `DELETE FROM ${others} WHERE _tg_writer = ${writer} AND _tg_writer <> ${MESSAGES}`,
    `UPDATE ${owners} SET _tg_open = true
      WHERE _tg_writer = ${writer} AND _tg_writer <> ${MESSAGES}
      AND (${listColumns(shape.keyColumns)}) IN (${own}
        EXCEPT SELECT ${listColumns(shape.keyColumns, "n")} FROM ${source.from})`,
  ];
}

/** M3 */
export function claimTemplate(
  parts: StatementParts,
  { returning = false, plain = false } = {},
): string {
  const { shape, source, writer } = parts;
  const [owners] = sideTables(shape);
  const keys = listColumns(shape.keyColumns);
  const rank = (from: string, names: readonly string[]) => `(${aliasedNames(names, from)})`;
  // Equal ranks are effects of one record on one row, of which the last counts (S5 of stage.ts).
  const compared = writer === "object" ? RANK.slice(0, 2) : RANK;
  const newer = `${rank("excluded", compared)} >= ${rank("c", compared)}`;
  const own = `c._tg_writer = excluded._tg_writer AND ${newer}`;
  const opens = writer === "object" ? `NOT (${own})` : `c._tg_writer <> ${MESSAGES}`;
  const set = [...RANK, "_tg_deleted"].map(
    (name) => `${name} = CASE WHEN ${own} THEN excluded.${name} ELSE c.${name} END`,
  );
  const insert = `INSERT INTO ${owners} AS c (${keys}, ${OWNER.join(", ")}, _tg_open)
    SELECT ${listColumns(shape.keyColumns, "n")}, ${writerOf(parts)}, ${stampOf()},
    n._tg_deleted, false FROM ${source.from} WHERE true ${source.order}`;
  if (plain) return insert;
  return `${insert}
    ON CONFLICT (${keys}) DO UPDATE SET _tg_open = ${opens}, ${set.join(", ")}
    ${writer === "message" ? `WHERE ${opens} OR (${own})` : ""}
    ${returning ? `RETURNING ${listColumns(shape.keyColumns, "c")}, c._tg_open, c._tg_deleted` : ""}`;
}

function stampOf(): string {
  return ["time", "tie", "fence"].map(named).join(", ");
}

/** Returns a row if no key is open. */
export function settledTemplate(shape: TableShape, dialect: Dialect): string {
  return `SELECT 1 WHERE NOT EXISTS (${openTemplate(shape, dialect)})`;
}

/** Writes the rows whose claim is settled to the user's table; "all" if no key is open,
 * and "plain" if in addition no row is expected to exist. */
export function putTemplate(parts: StatementParts, which: "settled" | "all" | "plain"): string {
  const { dialect, shape, source, writer } = parts;
  const [owners] = sideTables(shape);
  const keys = shape.keyColumns;
  const select = `SELECT ${listColumns(shape.columns, "n")} FROM ${source.from}`;
  const upserts = `${select} WHERE NOT n._tg_deleted ${source.order}`;
  if (which === "plain")
    return `INSERT INTO ${shape.target} (${listColumns(shape.columns)}) ${upserts}`;
  if (which === "all") return insertInto(dialect, shape, upserts);
  const settled =
    writer === "message"
      ? // A message that lost to an earlier one has another stamp.
        `JOIN ${owners} AS c ON ${sameKeys("c", "n", keys)}
        WHERE NOT c._tg_open AND NOT n._tg_deleted AND NOT c._tg_deleted
        AND c._tg_writer = ${MESSAGES} AND (${aliasedNames(RANK, "c")}) = (${stampOf()})`
      : `WHERE NOT n._tg_deleted AND NOT EXISTS (SELECT 1
        FROM ${owners} AS c${dialect.indexedBy(openIndex(shape.name))}
        WHERE c._tg_open AND ${sameKeys("c", "n", keys)})`;
  return insertInto(dialect, shape, `${select} ${settled} ${source.order}`);
}

/** Deletes the rows whose settled claim is a delete. */
export function eraseTemplate({ shape, source }: StatementParts): string {
  const [owners] = sideTables(shape);
  return `DELETE FROM ${shape.target} WHERE (${listColumns(shape.keyColumns)}) IN (
    SELECT ${listColumns(shape.keyColumns, "c")} FROM ${source.from} JOIN ${owners} AS c
    ON ${sameKeys("c", "n", shape.keyColumns)}
    WHERE n._tg_deleted AND c._tg_deleted AND NOT c._tg_open)`;
}

/** Returns a row if keys are open. */
export function openTemplate({ name }: TableShape, dialect: Dialect): string {
  const owners = quotedName(ownersTable(name));
  return `SELECT 1 FROM ${owners} AS c${dialect.indexedBy(openIndex(name))}
    WHERE c._tg_open LIMIT 1`;
}

/** Claim, put and erase in one round trip; returns a row if keys are open. */
export function combinedTemplate(parts: StatementParts): string {
  const { dialect, shape, source } = parts;
  const [owners] = sideTables(shape);
  const keys = shape.keyColumns;
  const rows = { from: "n", order: source.order };
  const put = `SELECT ${listColumns(shape.columns, "n")} FROM n JOIN claimed AS c ON ${sameKeys("c", "n", keys)}
    WHERE NOT c._tg_open AND NOT n._tg_deleted ${source.order}`;
  return `WITH n AS MATERIALIZED (SELECT * FROM ${source.from}),
    claimed AS (${claimTemplate({ ...parts, source: rows }, { returning: true })}),
    put AS (${insertInto(dialect, shape, put)}),
    erased AS (DELETE FROM ${shape.target} AS t USING claimed AS c
      WHERE ${sameKeys("t", "c", keys)} AND c._tg_deleted AND NOT c._tg_open)
    SELECT 1 FROM claimed WHERE _tg_open
    UNION ALL SELECT 1 FROM ${owners} WHERE _tg_open LIMIT 1`;
}

/** M4, in order. */
export function electTemplates(parts: StatementParts): string[] {
  const { dialect, shape, source, writer } = parts;
  const [owners] = sideTables(shape);
  const { keyColumns: keys, valueColumns: values } = shape;
  // As in a claim, the last effect of one record on one row counts (S5 of stage.ts).
  const newer =
    writer === "message"
      ? `WHERE (${aliasedNames(RANK, "excluded")}) >= (${aliasedNames(RANK, "o")})`
      : "";
  const shown = values.map(({ quoted }) => dialect.toAny(`n.${quoted}`));
  const row = [listColumns(keys, "n"), ...shown, writerOf(parts), stampOf()].join(", ");
  return [
    ...(dialect.name === "postgres" ? [lockTemplate(shape)] : []), // M6
    moveOwnersTemplate(dialect, shape, `c._tg_writer <> ${writerOf(parts)}`),
    `${othersInsert(shape)} SELECT ${row},
      n._tg_deleted FROM ${source.from} JOIN ${owners} AS c ON ${sameKeys("c", "n", keys)}
      WHERE c._tg_open ${source.order} ${othersConflict(shape, newer)}`,
    ...settleTemplates(dialect, shape),
  ];
}

/** Copies the visible rows of open keys to the others, if their owners meet the condition. */
export function moveOwnersTemplate(dialect: Dialect, shape: TableShape, which: string): string {
  const [owners] = sideTables(shape);
  const { keyColumns: keys, valueColumns: values } = shape;
  const shown = values.map(({ quoted }) => dialect.toAny(`t.${quoted}`));
  return `${othersInsert(shape)} SELECT ${[listColumns(keys, "c"), ...shown, aliasedNames(OWNER, "c")].join(", ")}
    FROM ${owners} AS c LEFT JOIN ${shape.target} AS t ON ${sameKeys("t", "c", keys)}
    WHERE c._tg_open AND ${which}
    AND (c._tg_deleted OR t.${keys[0]?.quoted} IS NOT NULL) ${othersConflict(shape, "")}`;
}

/** The head of an insert into the others: keys, values, owner. */
export function othersInsert(shape: TableShape): string {
  const [, others] = sideTables(shape);
  const all = [...shape.keyColumns, ...shape.valueColumns];
  return `INSERT INTO ${others} AS o (${listColumns(all)}, ${OWNER.join(", ")})`;
}

/** The end of an insert into the others. */
export function othersConflict({ keyColumns, valueColumns }: TableShape, newer: string): string {
  const names = [...valueColumns.map(({ quoted }) => quoted), ...RANK, "_tg_deleted"];
  const set = names.map((name) => `${name} = excluded.${name}`).join(", ");
  return `ON CONFLICT (${listColumns(keyColumns)}, _tg_writer) DO UPDATE SET ${set} ${newer}`;
}

/** Gives open keys to the highest rank among the others, and closes them (M4). */
export function settleTemplates(dialect: Dialect, shape: TableShape): string[] {
  const [owners, others] = sideTables(shape);
  const { keyColumns: keys, valueColumns: values } = shape;
  const keyList = listColumns(keys);
  const all = [...keys, ...values];
  const orphaned = `SELECT ${listColumns(keys, "c")} FROM ${owners} AS c
    WHERE c._tg_open AND NOT EXISTS (SELECT 1 FROM ${others} AS o WHERE ${sameKeys("o", "c", keys)})`;
  const restored = values.map((column) => dialect.fromAny(`o.${column.quoted}`, column));
  return [
    `UPDATE ${owners} AS c SET ${OWNER.map((name) => `${name} = b.${name}`).join(", ")}
      FROM (SELECT ${listColumns(keys, "o")}, ${aliasedNames(OWNER, "o")}, row_number() OVER (
        PARTITION BY ${listColumns(keys, "o")}
        ORDER BY ${RANK.map((name) => `o.${name} DESC`).join(", ")}, o._tg_writer DESC) AS _tg_rank
        FROM ${others} AS o JOIN ${owners} AS k ON ${sameKeys("o", "k", keys)} WHERE k._tg_open) AS b
      WHERE ${sameKeys("c", "b", keys)} AND b._tg_rank = 1`,
    `DELETE FROM ${shape.target} WHERE (${keyList}) IN (${orphaned})`,
    `DELETE FROM ${owners} WHERE (${keyList}) IN (${orphaned})`,
    insertInto(
      dialect,
      { ...shape, columns: all },
      `SELECT ${[listColumns(keys, "o"), ...restored].join(", ")} FROM ${others} AS o
      JOIN ${owners} AS c ON ${sameKeys("o", "c", keys)} AND o._tg_writer = c._tg_writer
      WHERE c._tg_open AND NOT c._tg_deleted`,
    ),
    `DELETE FROM ${shape.target} WHERE (${keyList}) IN (
      SELECT ${listColumns(keys, "c")} FROM ${owners} AS c WHERE c._tg_open AND c._tg_deleted)`,
    `DELETE FROM ${others} WHERE (${keyList}, _tg_writer) IN (
      SELECT ${listColumns(keys, "c")}, c._tg_writer FROM ${owners} AS c WHERE c._tg_open)`,
    `UPDATE ${owners} SET _tg_open = false WHERE _tg_open`,
  ];
}

/** M6 */
function lockTemplate(shape: TableShape): string {
  const [owners, others] = sideTables(shape);
  return `SELECT 1 FROM ${WRITERS_TABLE} AS w WHERE w.id IN (
    SELECT o._tg_writer FROM ${others} AS o JOIN ${owners} AS c
    ON ${sameKeys("o", "c", shape.keyColumns)} WHERE c._tg_open) ORDER BY w.id FOR SHARE`;
}

/** Inserts or updates rows of the user's table (M5). */
function insertInto(dialect: Dialect, shape: TableShape, select: string): string {
  const { target, columns, keyColumns, valueColumns } = shape;
  const set = valueColumns.map(({ quoted }) => `${quoted} = excluded.${quoted}`).join(", ");
  const update =
    valueColumns.length === 0
      ? "DO NOTHING"
      : `DO UPDATE SET ${set} WHERE ${dialect.differs("t", "excluded", valueColumns)}`;
  return `INSERT INTO ${target} AS t (${listColumns(columns)}) ${select}
    ON CONFLICT (${listColumns(keyColumns)}) ${update}`;
}

export function sideTables({ name }: TableShape): [owners: string, others: string] {
  return [quotedName(ownersTable(name)), quotedName(othersTable(name))];
}
