// Shadow statements: the SQL that compares a shadow with its live table, and that promotes it.
//   W1. An object of the shadow applies if its live table has no event of it, has an older one, or
//       has the same one. Otherwise its live rows stay: a newer event is a live write.
//   W2. The shadow does not have the rows that a quarantine redrive added to the same version, so
//       such an object keeps its live rows. The register marks it (M7 of statements.ts).
//   W3. Applied objects replace their own rows only. Every key that they had or have is opened and
//       elected again, by the order of ranks that live writes use (M4 of statements.ts).
//   W4. A difference is the result of the same election, computed without writing.
//   W5. All messages are one writer. The rows of a message apply unless a message of a higher rank
//       wrote the key. Rows that a replayed message wrote and no longer writes are removed.

import type { Dialect } from "../databases/dialect.ts";
import { literal, WRITERS_TABLE } from "../names.ts";
import type { TableShape } from "../shape.ts";
import {
  aliasedNames,
  DIGEST,
  listColumns,
  MESSAGES,
  moveOwnersTemplate,
  OWNER,
  othersConflict,
  othersInsert,
  RANK,
  sameKeys,
  settleTemplates,
  sideTables,
} from "../statements.ts";

/** The objects that a promotion applies: the writer in the shadow, and the live one. */
export const APPLIED_TABLE = "tidegate_sink_applied";
/** The shadows of a database. */
export const SHADOWS_TABLE = "tidegate_sink_shadows";

/** The ranks of the messages that a shadow has replayed (W5). */
export const REPLAYED_TABLE = "tidegate_sink_replayed";

/** A table and its shadow, which have the same columns. */
export interface ShadowPair {
  readonly dialect: Dialect;
  readonly live: TableShape;
  readonly shadow: TableShape;
  readonly onReplaced: "delete" | "keep";
  /** The id of the shadow. */
  readonly id: string;
}

/** The owner of a key that no one owns yet. */
const NO_WRITER = "-1";

const IS_SAME = `(w.record_key = s.record_key
  OR (w.sequencer <> '' AND w.sequencer = s.sequencer))`;
const IS_OLDER = `CASE WHEN w.sequencer <> '' AND s.sequencer <> ''
  THEN w.sequencer < s.sequencer ELSE w.event_time < s.event_time END`;

/** W1 and W2, for a writer `s` of the shadow and the live writer `w` of the object, or none. */
const APPLIES = `(w.id IS NULL OR (CASE WHEN ${IS_SAME} THEN NOT w.added ELSE ${IS_OLDER} END))`;

/** The writers of the shadow with their live ones, as `s` and `w`. */
function writersOf({ live, shadow }: ShadowPair): string {
  return `${WRITERS_TABLE} AS s LEFT JOIN ${WRITERS_TABLE} AS w
    ON w.table_name = ${literal(live.name)} AND w.object = s.object
    WHERE s.table_name = ${literal(shadow.name)}`;
}

/** The rows of applied objects: keys, values, owner; `applied` has sid and lid. */
function replayedRows({ dialect, shadow }: ShadowPair, applied: string): string {
  const [owners, others] = sideTables(shadow);
  const { keyColumns: keys, valueColumns: values } = shadow;
  const shown = values.map(({ quoted }) => `${dialect.toAny(`t.${quoted}`)} AS ${quoted}`);
  const rank = (from: string) => `${aliasedNames(RANK, from)}, ${from}._tg_deleted`;
  return `SELECT ${[listColumns(keys, "c"), ...shown].join(", ")}, a.lid AS _tg_writer, ${rank("c")}
    FROM ${owners} AS c JOIN ${applied} AS a ON a.sid = c._tg_writer
    LEFT JOIN ${shadow.target} AS t ON ${sameKeys("t", "c", keys)}
    UNION ALL SELECT ${listColumns([...keys, ...values], "o")}, a.lid, ${rank("o")}
    FROM ${others} AS o JOIN ${applied} AS a ON a.sid = o._tg_writer`;
}

/** The statements that promote one table, within the transaction of the promotion. */
export function promoteStatements(pair: ShadowPair): string[] {
  const { dialect, live, shadow, id, onReplaced } = pair;
  const [owners, others] = sideTables(live);
  const keys = live.keyColumns;
  const own = `(SELECT p.sid, p.lid FROM ${APPLIED_TABLE} AS p WHERE p.shadow = ${literal(id)}
    UNION ALL SELECT ${MESSAGES}, ${MESSAGES})`;
  const lids = `(SELECT p.lid FROM ${APPLIED_TABLE} AS p WHERE p.shadow = ${literal(id)})`;
  const replayed = isReplayed(pair);
  const rows = `(${replayedRows(pair, own)}) AS n`;
  const columns = ["sequencer", "event_time", "record_key", "fence", "added", ...DIGEST];
  const isWhole = onReplaced === "delete"; // M8 of statements.ts
  const digest = DIGEST.map((name) => `${name} = ${isWhole ? `excluded.${name}` : "NULL"}`);
  const greatest = dialect.name === "postgres" ? "greatest" : "max";
  const none = `${NO_WRITER}, 0, 0, 0, true, true`;
  const sweeps = [
    `DELETE FROM ${others} AS o WHERE o._tg_writer IN ${lids} OR ${replayed("o")}`,
    `UPDATE ${owners} AS c SET _tg_open = true WHERE c._tg_writer IN ${lids} OR ${replayed("c")}`,
  ];
  return [
    `INSERT INTO ${APPLIED_TABLE} (shadow, sid, lid)
      SELECT ${literal(id)}, s.id, 0 FROM ${writersOf(pair)} AND ${APPLIES}`,
    `INSERT INTO ${WRITERS_TABLE} AS w (table_name, object, ${columns.join(", ")})
      SELECT ${literal(live.name)}, s.object, ${aliasedNames(columns, "s")} FROM ${WRITERS_TABLE} AS s
      JOIN ${own} AS a ON a.sid = s.id WHERE s.table_name = ${literal(shadow.name)}
      ON CONFLICT (table_name, object) DO UPDATE SET event_time = excluded.event_time,
      sequencer = CASE excluded.sequencer WHEN '' THEN w.sequencer ELSE excluded.sequencer END,
      record_key = excluded.record_key, fence = ${greatest}(w.fence, excluded.fence),
      added = excluded.added, ${digest.join(", ")}`,
    `UPDATE ${APPLIED_TABLE} SET lid = (SELECT w.id FROM ${WRITERS_TABLE} AS s
      JOIN ${WRITERS_TABLE} AS w ON w.object = s.object AND w.table_name = ${literal(live.name)}
      WHERE s.id = ${APPLIED_TABLE}.sid)
      WHERE shadow = ${literal(id)} AND lid = 0`,
    ...(onReplaced === "delete" ? sweeps : []),
    `INSERT INTO ${owners} AS c (${listColumns(keys)}, ${OWNER.join(", ")}, _tg_open)
      SELECT DISTINCT ${listColumns(keys, "n")}, ${none} FROM ${rows} WHERE true
      ON CONFLICT (${listColumns(keys)}) DO UPDATE SET _tg_open = true`,
    moveOwnersTemplate(dialect, live, movedOwners(pair, lids)), // W3
    `${othersInsert(live)} SELECT * FROM ${rows} WHERE true ${othersConflict(live, NEWER)}`,
    ...settleTemplates(dialect, live),
  ];
}

/** Owners that stay candidates: all but those whose rows are replaced. */
function movedOwners(pair: ShadowPair, lids: string): string {
  const owned = `c._tg_writer <> ${NO_WRITER}`;
  if (pair.onReplaced === "keep") return owned;
  return `${owned} AND c._tg_writer NOT IN ${lids} AND NOT ${isReplayed(pair)("c")}`;
}

/** Whether a row of the side tables is of a message that was replayed (W5). */
function isReplayed({ id }: ShadowPair) {
  return (from: string) => `(${from}._tg_writer = ${MESSAGES} AND EXISTS (SELECT 1
    FROM ${REPLAYED_TABLE} AS p WHERE p.shadow = ${literal(id)}
    AND p.time = ${from}._tg_time AND p.tie = ${from}._tg_tie))`;
}

/** Of two messages the newer one stays; the replayed rows of an object replace its rows (W5). */
const NEWER = `WHERE excluded._tg_writer <> ${MESSAGES}
  OR (excluded._tg_time, excluded._tg_tie) >= (o._tg_time, o._tg_tie)`;

/** Registers a message of the shadow, by its rank (W5). */
export function replayedStatement({ name }: Dialect, id: string): string {
  const [time, tie] = name === "postgres" ? ["$1", "$2"] : ["?1", "?2"];
  return `INSERT INTO ${REPLAYED_TABLE} (shadow, time, tie)
    VALUES (${literal(id)}, ${time}, ${tie}) ON CONFLICT DO NOTHING`;
}

/** W4: one row per key whose visible row changes, with `kind` and both rows. */
function differences(pair: ShadowPair): string {
  const { dialect, live, onReplaced } = pair;
  const [owners, others] = sideTables(live);
  const { keyColumns: keys, valueColumns: values } = live;
  const [first] = keys.map(({ quoted }) => quoted);
  const shown = values.map(({ quoted }) => `${dialect.toAny(`t.${quoted}`)} AS ${quoted}`);
  const isMessage = (from: string) => `${from}._tg_writer = ${MESSAGES}`;
  const again = (from: string) => `EXISTS (SELECT 1 FROM replayed AS r
    WHERE ${sameKeys("r", from, keys)} AND r._tg_writer = ${from}._tg_writer AND (NOT ${isMessage("r")}
    OR (r._tg_time, r._tg_tie) >= (${from}._tg_time, ${from}._tg_tie)))`;
  const ofMessage = isReplayed(pair); // W5
  const replaced =
    onReplaced === "delete"
      ? (
          from: string,
        ) => `NOT (CASE WHEN ${isMessage(from)} THEN ${ofMessage(from)} OR ${again(from)}
          ELSE ${from}._tg_writer IN (SELECT a.lid FROM applied AS a) END)`
      : (from: string) => `NOT ${again(from)}`;
  const swept = onReplaced === "delete" ? `OR ${ofMessage("c")}` : "";
  const isIn = (from: string) => `JOIN touched AS k ON ${sameKeys("k", from, keys)}`;
  const differs = values.map(
    ({ quoted }) => `x.${quoted} IS DISTINCT FROM ${dialect.toAny(`t.${quoted}`)}`,
  );
  const isThere = `(x.${first} IS NOT NULL AND NOT x._tg_deleted)`;
  return `WITH applied AS (SELECT s.id AS sid, COALESCE(w.id, -1 - s.id) AS lid
      FROM ${writersOf(pair)} AND ${APPLIES}),
    replayed AS (${replayedRows(
      pair,
      `(SELECT sid, lid FROM applied UNION ALL SELECT ${MESSAGES}, ${MESSAGES})`,
    )}),
    touched AS (SELECT ${listColumns(keys, "r")} FROM replayed AS r
      UNION SELECT ${listColumns(keys, "c")} FROM ${owners} AS c
      WHERE c._tg_writer IN (SELECT a.lid FROM applied AS a) ${swept}),
    candidates AS (SELECT ${[listColumns(keys, "c"), ...shown, aliasedNames(OWNER, "c")].join(", ")}
      FROM ${owners} AS c ${isIn("c")} LEFT JOIN ${live.target} AS t ON ${sameKeys("t", "c", keys)}
      WHERE (c._tg_deleted OR t.${first} IS NOT NULL) AND ${replaced("c")}
      UNION ALL SELECT ${listColumns([...keys, ...values], "o")}, ${aliasedNames(OWNER, "o")}
      FROM ${others} AS o ${isIn("o")} WHERE ${replaced("o")}
      UNION ALL SELECT ${listColumns([...keys, ...values], "r")}, ${aliasedNames(OWNER, "r")}
      FROM replayed AS r),
    ranked AS (SELECT n.*, row_number() OVER (PARTITION BY ${listColumns(keys, "n")}
      ORDER BY ${RANK.map((name) => `n.${name} DESC`).join(", ")}, n._tg_writer DESC) AS _tg_rank
      FROM candidates AS n),
    found AS (SELECT ${listColumns(keys, "k")},
      ${[
        ...values.map(({ quoted }, at) => `${dialect.toAny(`t.${quoted}`)} AS l${at}`),
        ...values.map(({ quoted }, at) => `x.${quoted} AS r${at}`),
      ]
        .map((each) => `${each},`)
        .join(" ")}
      CASE WHEN t.${first} IS NULL THEN CASE WHEN ${isThere} THEN 'added' END
        WHEN NOT ${isThere} THEN 'removed'
        WHEN ${differs.length === 0 ? "1 = 0" : differs.join(" OR ")} THEN 'changed' END AS kind
      FROM touched AS k LEFT JOIN ${live.target} AS t ON ${sameKeys("t", "k", keys)}
      LEFT JOIN ranked AS x ON ${sameKeys("x", "k", keys)} AND x._tg_rank = 1)`;
}

/** SQLite: a number that JavaScript would round is read as text. */
export function readableNumber({ name }: Dialect, value: string): string {
  if (name === "postgres") return value;
  const limit = Number.MAX_SAFE_INTEGER;
  return `CASE WHEN typeof(${value}) = 'integer' AND ${value} NOT BETWEEN -${limit} AND ${limit}
    THEN CAST(${value} AS text) ELSE ${value} END`;
}

/** Counts of differences by kind. */
export function differenceCounts(pair: ShadowPair): string {
  return `${differences(pair)} SELECT kind, count(*) AS n FROM found WHERE kind IS NOT NULL
    GROUP BY kind`;
}

/** Differences, sorted by key: the keys, then l0, l1, … and r0, r1, …. */
export function differenceSamples(pair: ShadowPair, limit: number): string {
  const { dialect, live } = pair;
  const keys = live.keyColumns.map(
    ({ quoted }) => `${readableNumber(dialect, quoted)} AS ${quoted}`,
  );
  const values = live.valueColumns.flatMap((_, at) =>
    [`l${at}`, `r${at}`].map((name) => `${readableNumber(dialect, name)} AS ${name}`),
  );
  return `${differences(pair)} SELECT ${[...keys, ...values, "kind"].join(", ")} FROM found
    WHERE kind IS NOT NULL ORDER BY ${listColumns(live.keyColumns)} LIMIT ${limit}`;
}

/** How many objects of the shadow do not apply. */
export function keptObjects(pair: ShadowPair): string {
  return `SELECT count(*) AS n FROM ${writersOf(pair)} AND NOT ${APPLIES}`;
}

/** The tables that all shadows of a database share. */
export function sharedRelations({ byteText, integer, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${SHADOWS_TABLE} (id ${byteText} PRIMARY KEY,
      run ${byteText} NOT NULL, tables ${byteText} NOT NULL, state ${byteText} NOT NULL)${clustered}`,
    `CREATE TABLE IF NOT EXISTS ${APPLIED_TABLE} (shadow ${byteText} NOT NULL,
      sid ${integer} NOT NULL, lid ${integer} NOT NULL, PRIMARY KEY (shadow, sid))${clustered}`,
    `CREATE TABLE IF NOT EXISTS ${REPLAYED_TABLE} (shadow ${byteText} NOT NULL,
      time ${integer} NOT NULL, tie ${integer} NOT NULL,
      PRIMARY KEY (shadow, time, tie))${clustered}`,
  ];
}
