// Shape: what the sink knows about one table once its database is prepared: the table of the user,
// its columns, and the side tables of the bookkeeping.

import type { CreatedTableSpec } from "../../core/table-spec.ts";
import { columnOf, type TableColumn } from "./column.ts";
import type { Dialect } from "./databases/dialect.ts";
import { quotedName } from "./names.ts";
import { typeFacts } from "./row-values.ts";

export interface TableShape {
  /** As in the pipeline. */
  readonly name: string;
  /** The table of the user, quoted. */
  readonly target: string;
  readonly columns: readonly TableColumn[];
  readonly key: readonly string[];
  readonly keyColumns: readonly TableColumn[];
  readonly valueColumns: readonly TableColumn[];
  /** Where the key is among the columns. */
  readonly keyIndexes: readonly number[];
  readonly names: ReadonlySet<string>;
  /** Columns of an existing table that the pipeline does not write. */
  readonly unwritten: ReadonlySet<string>;
}

export function shapeOf(
  name: string,
  columns: readonly TableColumn[],
  key: readonly string[],
  unwritten: readonly string[] = [],
): TableShape {
  const target = name.split(".").map(quotedName).join(".");
  const keyColumns = key.flatMap((one) => columns.filter((column) => column.name === one));
  const valueColumns = columns.filter((column) => !key.includes(column.name));
  return {
    name,
    target,
    columns,
    key,
    keyColumns,
    valueColumns,
    keyIndexes: keyColumns.map((column) => columns.indexOf(column)),
    names: new Set(columns.map((column) => column.name)),
    unwritten: new Set(unwritten),
  };
}

/** The shape of a table that Tidegate creates. */
export function createdShape(dialect: Dialect, name: string, spec: CreatedTableSpec): TableShape {
  const columns = Object.entries(spec.columns).map(([column, type]) =>
    columnOf(column, typeFacts(type), dialect.nativeType(typeFacts(type))),
  );
  return shapeOf(name, columns, spec.key);
}
