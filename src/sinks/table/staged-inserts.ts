// Staged inserts: the writes that store a chunk of rows in a stage (S7 of stage.ts).

import { present } from "../../core/assert.ts";
import type { SinkValue, SinkWrite } from "../../core/sink-write.ts";
import { copyTextOf } from "./databases/copy-text.ts";
import type { Dialect } from "./databases/dialect.ts";
import type { PlannedRow } from "./rows.ts";
import type { TableShape } from "./shape.ts";

/** SQLite: values that one call inserts. A call has a cost of its own. */
const INSERT_VALUES = 160;

export function stagedInserts(
  dialect: Dialect,
  { shape, relation }: { readonly shape: TableShape; readonly relation: string },
  rows: readonly PlannedRow[],
): SinkWrite[] {
  if (dialect.name === "postgres") {
    const names = shape.columns.map(({ quoted }) => quoted).join(", ");
    const statement = `COPY ${relation} (${names}, _tg_deleted) FROM STDIN`;
    return [{ statement, params: [], copy: copyTextOf(rows), once: true }];
  }
  const width = shape.columns.length + 1;
  const size = Math.max(1, Math.floor(INSERT_VALUES / width));
  const grouped = rows.length - (rows.length % size);
  const insert = (count: number, from: number, to: number): SinkWrite => ({
    statement: insertInto(relation, width, count), // S7
    params: [],
    rows: valueLists(rows, { from, to, count, width }),
  });
  return [
    ...(grouped > 0 ? [insert(size, 0, grouped)] : []),
    ...(grouped < rows.length ? [insert(1, grouped, rows.length)] : []),
  ];
}

function insertInto(relation: string, width: number, rows: number): string {
  const marks = `(${new Array<string>(width).fill("?").join(", ")})`;
  return `INSERT INTO ${relation} VALUES ${new Array<string>(rows).fill(marks).join(", ")}`;
}

/** The values of `count` rows each, in one list. */
function valueLists(
  rows: readonly PlannedRow[],
  part: {
    readonly from: number;
    readonly to: number;
    readonly count: number;
    readonly width: number;
  },
): SinkValue[][] {
  const lists: SinkValue[][] = [];
  for (let first = part.from; first < part.to; first += part.count) {
    const list = new Array<SinkValue>(part.count * part.width);
    let at = 0;
    for (let nth = first; nth < first + part.count; nth += 1) {
      for (const value of present(rows[nth], "a row of the chunk").values) {
        list[at] = value;
        at += 1;
      }
    }
    lists.push(list);
  }
  return lists;
}
