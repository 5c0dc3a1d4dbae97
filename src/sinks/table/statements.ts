// Statements: the SQL of the sink. One text per table and kind of writer, whatever the rows, which
// come as one JSON parameter.
//   M1. An object's event takes effect only if no newer event of that object did: by sequencer
//       where both have one, else by event time; between attempts at one event by fence. The
//       condition is in the statements, so that a late or zombie writer changes nothing.
//   M2. An object has a row once, however often it contains it; an existing row with the same hash
//       is not written.
//   M3. Messages share one row per key; the latest by event time, record key and fence wins. Equal
//       content of a later message is still written, because its time must be stored.

import type { TableSpec, TablesSpec } from "../../core/table-spec.ts";
import { type Dialect, literal, quotedName } from "./dialect.ts";
import { OBJECTS_TABLE, rowsTable } from "./layout.ts";

/** Parameters of `register`, in this order. */
export function registerStatement(dialect: Dialect, tables: TablesSpec): string {
  const params = [
    dialect.param(1, "text"), // object
    dialect.param(2, "text"), // sequencer
    dialect.param(3, "integer"), // event time
    dialect.param(4, "text"), // record key
    dialect.param(5, "integer"), // fence
  ].join(", ");
  const values = Object.keys(tables).map((table) => `(${literal(table)}, ${params})`);
  const columns = ["sequencer", "event_time", "record_key", "fence"];
  // An event without a sequencer keeps the stored one.
  const sequencer = "CASE excluded.sequencer WHEN '' THEN o.sequencer ELSE excluded.sequencer END";
  const others = columns.slice(1).map((name) => `${name} = excluded.${name}`);
  const set = [`sequencer = ${sequencer}`, ...others].join(", ");
  return `INSERT INTO ${OBJECTS_TABLE} AS o (table_name, object, ${columns.join(", ")})
    VALUES ${values.join(", ")}
    ON CONFLICT (table_name, object) DO UPDATE SET ${set}
    WHERE CASE
      WHEN o.sequencer <> '' AND excluded.sequencer <> '' AND o.sequencer <> excluded.sequencer
      THEN excluded.sequencer > o.sequencer
      ELSE (excluded.event_time, excluded.fence) >= (o.event_time, o.fence) END`; // M1
}

export interface TableStatements {
  /** Rows as JSON, object, event time, record key, fence. */
  readonly ofObject: string;
  /** The same parameters; the object is empty. */
  readonly ofMessage: string;
  /** Keys as JSON, object, record key, fence: deletes the object's other rows. */
  readonly sweep: string;
}

/** A row in JSON: the columns in the order of the spec, the hash, whether it is deleted. */
export function tableStatements(dialect: Dialect, table: string, spec: TableSpec): TableStatements {
  const rows = quotedName(rowsTable(table));
  const columns = Object.entries(spec.columns);
  const names = columns.map(([name]) => quotedName(name));
  const own = ["_tg_object", "_tg_time", "_tg_key", "_tg_fence", "_tg_hash", "_tg_deleted"];
  const members = columns.map(([, type], index) => dialect.member(index, type));
  const [object, time, key, fence] = [
    dialect.param(2, "text"),
    dialect.param(3, "integer"),
    dialect.param(4, "text"),
    dialect.param(5, "integer"),
  ];
  const hash = dialect.member(columns.length, "text");
  const deleted = dialect.member(columns.length + 1, "boolean");
  const insert = (condition: string) => `INSERT INTO ${rows} AS t (${[...names, ...own].join(", ")})
    SELECT ${[...members, object, time, key, fence, hash, deleted].join(", ")}
    FROM ${dialect.elements(dialect.param(1, "json"))} WHERE ${condition}`;
  const changing = columns.map(([name]) => name).filter((name) => !spec.key.includes(name));
  const set = [...changing.map(quotedName), ...own.slice(1)]
    .map((name) => `${name} = excluded.${name}`)
    .join(", ");
  const update = `ON CONFLICT (${[...spec.key.map(quotedName), "_tg_object"].join(", ")})
    DO UPDATE SET ${set}`;
  const stamp = (from: string) => `(${from}._tg_time, ${from}._tg_key, ${from}._tg_fence)`;
  return {
    ofObject: `${insert(holds(table, object, key, fence))}
    ${update} WHERE t._tg_hash <> excluded._tg_hash`, // M2
    ofMessage: `${insert("true")} ${update} WHERE ${stamp("excluded")} > ${stamp("t")}`, // M3
    sweep: sweepStatement(dialect, table, spec),
  };
}

function sweepStatement(dialect: Dialect, table: string, spec: TableSpec): string {
  const columns = spec.key.map((name) => ({ name, type: spec.columns[name] ?? "text" }));
  const [object, key] = [dialect.param(2, "text"), dialect.param(3, "text")];
  const rows = quotedName(rowsTable(table));
  const own = `${rows} WHERE _tg_object = ${object}`;
  const listed = { param: dialect.param(1, "json"), columns, alias: "t", own };
  return `DELETE FROM ${rows} AS t WHERE t._tg_object = ${object}
    AND ${holds(table, object, key, dialect.param(4, "integer"))}
    AND ${dialect.absentFrom(listed)}`;
}

/** M1: this event is the newest one of the object. */
function holds(table: string, object: string, key: string, fence: string): string {
  return `EXISTS (SELECT 1 FROM ${OBJECTS_TABLE} AS g WHERE g.table_name = ${literal(table)}
    AND g.object = ${object} AND g.record_key = ${key} AND g.fence = ${fence})`;
}
