// Check rows: compares a table with its bookkeeping and with the digests of its writers.
//   C1. The first pass reads all rows in pages, and adds up the rows of each writer, visible or
//       not. It finds nothing by itself: commits run between its pages.
//   C2. A writer whose rows differ is read again by one statement, which sees one state of the
//       database, together with the digest in the register.
//   C3. Rows without an owner, and rows whose owner is not the highest, are each found by one
//       statement.
//   C4. Memory holds a sum for each object, a page of rows, and the rows of a writer that differs.
//   C5. All messages are one writer, which has no digest. A row of it that is gone is found by its
//       bookkeeping; one that was changed is not.
//   C6. An object without a digest of the rows of its newest record in the columns of today is
//       counted (D5 of row-digest.ts). So is one to which rows were added.
//   C7. A whole number in a key may be beyond 2^53, which SQLite's driver refuses to give as a
//       number: it is read as text, and is a bigint in the next page's start.

import { present } from "../../core/assert.ts";
import type { SinkValue } from "../../core/sink-write.ts";
import type { TablesSpec } from "../../core/table-spec.ts";
import type { RowChecker, RowFinding, TableCheck } from "../../ports/row-checker.ts";
import type { SinkStore } from "../../ports/sink.ts";
import type { TableColumn } from "./column.ts";
import { type Dialect, POSTGRES, SQLITE } from "./databases/dialect.ts";
import { literal, WRITERS_TABLE } from "./names.ts";
import {
  columnMarks,
  digestIn,
  RowDigest,
  type RowTexts,
  rowTextsOf,
  undigestedColumns,
} from "./row-digest.ts";
import { createdShape, type TableShape } from "./shape.ts";
import { aliasedNames, listColumns, RANK, sameKeys, sideTables } from "./statements.ts";

const DIGITS = /^-?\d+$/;
const PAGE_ROWS = 5_000;
const FINDINGS_MAX = 1_000;

type Store = Pick<SinkStore, "read">;
type Row = Readonly<Record<string, unknown>>;

/** Checkers of the tables that a pipeline writes. */
export function createRowCheckers(
  store: Store,
  name: "sqlite" | "postgres",
  tables: TablesSpec,
): RowChecker[] {
  const dialect = name === "sqlite" ? SQLITE : POSTGRES;
  return Object.entries(tables).map(([table, spec]): RowChecker => {
    const notCompared = (why: string): TableCheck => {
      const counts = { rows: 0, ofMessages: 0, digested: 0, undigested: 0 };
      return { table, notCompared: why, ...counts, findings: [] };
    };
    if (spec.existing === true) {
      return { check: async () => notCompared("others may write to an existing table") };
    }
    const shape = createdShape(dialect, table, spec);
    const texts = rowTextsOf(dialect, shape);
    if (texts === null) {
      const why = `its columns ${undigestedColumns(shape).join(", ")} are arrays`;
      return { check: async () => notCompared(why) };
    }
    return { check: (signal) => new RowCheck(dialect, store, shape, texts).run(signal) };
  });
}

interface Writer {
  readonly object: string;
  readonly rows: number | null;
  readonly digest: string | null;
}

class RowCheck {
  readonly #dialect: Dialect;
  readonly #store: Store;
  readonly #shape: TableShape;
  readonly #texts: RowTexts;
  readonly #marks: ReadonlySet<string>;
  readonly #findings: RowFinding[] = [];
  readonly #sums = new Map<number, RowDigest>();
  /** Writers of which a row was not in the table. */
  readonly #incomplete = new Set<number>();
  #rows = 0;
  #ofMessages = 0;

  constructor(dialect: Dialect, store: Store, shape: TableShape, texts: RowTexts) {
    this.#dialect = dialect;
    this.#store = store;
    this.#shape = shape;
    this.#texts = texts;
    this.#marks = new Set(columnMarks(shape));
  }

  async run(signal: AbortSignal): Promise<TableCheck> {
    for (const side of ["owners", "others"] as const) await this.#addUp(side, signal); // C1
    const writers = await this.#writers();
    let [digested, undigested] = [0, 0];
    for (const [id, { rows, digest }] of writers) {
      if (digest === null) undigested += 1;
      else digested += 1;
      const sum = this.#sums.get(id) ?? new RowDigest();
      const isSame = digest === null || (sum.rows === rows && sum.hex === digest);
      if (!isSame || this.#incomplete.has(id)) await this.#lookAgain(id);
      signal.throwIfAborted();
    }
    if (this.#incomplete.has(MESSAGES_ID)) await this.#lookAgain(MESSAGES_ID);
    await this.#misplaced();
    const { name: table } = this.#shape;
    const findings = this.#findings;
    const counts = { rows: this.#rows, ofMessages: this.#ofMessages, digested, undigested };
    return { table, notCompared: null, ...counts, findings };
  }

  async #addUp(side: "owners" | "others", signal: AbortSignal): Promise<void> {
    const { keyColumns } = this.#shape;
    const { name } = this.#dialect;
    const from = this.#select(side);
    const order = keyColumns.map(({ quoted }) => `s.${quoted}`);
    if (side === "others") order.push("s._tg_writer");
    let after: readonly SinkValue[] | null = null;
    for (;;) {
      const marks = order.map((_, at) => {
        const mark = this.#dialect.param(at + 1, "any");
        const native = keyColumns[at]?.native ?? "bigint";
        return name === "postgres" ? `${mark}::text::${native}` : mark;
      });
      const where = after === null ? "" : `WHERE (${order.join(", ")}) > (${marks.join(", ")})`;
      const page: readonly Row[] = await this.#store.read({
        statement: `${from} ${where} ORDER BY ${order.join(", ")} LIMIT ${PAGE_ROWS}`,
        params: after ?? [],
      });
      for (const row of page) this.#add(row, side === "owners");
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return;
      after = order.map((_, at) => this.#cursorValue(last[`k${at}`], keyColumns[at]));
      signal.throwIfAborted();
    }
  }

  /** Rows of a side table with their values: `v0`, the key as `k0`, and the owner. */
  #select(side: "owners" | "others"): string {
    const { keyColumns, columns, target } = this.#shape;
    const [owners, others] = sideTables(this.#shape);
    const isKey = (quoted: string) => keyColumns.some((key) => key.quoted === quoted);
    const values = this.#texts.expressions((column) => {
      const { quoted } = column;
      if (isKey(quoted)) return `s.${quoted}`;
      if (side === "owners") return `t.${quoted}`;
      return this.#dialect.fromAny(`s.${quoted}`, column);
    });
    const shown = columns.map((_, at) => `${present(values[at], "a value")} AS v${at}`);
    const keys = keyColumns.map(
      (column, at) => `${this.#plain(`s.${column.quoted}`, column)} AS k${at}`,
    );
    const gone = side === "owners" ? `t.${keyColumns[0]?.quoted} IS NULL` : "false";
    const writer = side === "others" ? `, s._tg_writer AS k${keyColumns.length}` : "";
    const join = `LEFT JOIN ${target} AS t ON ${sameKeys("t", "s", keyColumns)}`;
    return `SELECT ${[...shown, ...keys].join(", ")}${writer}, s._tg_writer AS writer,
      s._tg_deleted AS deleted, ${gone} AS gone
      FROM ${side === "owners" ? owners : others} AS s ${side === "owners" ? join : ""}`;
  }

  #plain(value: string, { native }: TableColumn): string {
    if (this.#dialect.name === "postgres") return `${value}::text`;
    if (native !== SQLITE.integer) return value;
    return `CASE typeof(${value}) WHEN 'integer' THEN CAST(${value} AS TEXT) ELSE ${value} END`; // C7
  }

  /** C7. SQLite stores no text of digits in a column of whole numbers. */
  #cursorValue(value: unknown, column: TableColumn | undefined): SinkValue {
    const isWhole = this.#dialect.name === "sqlite" && column?.native === SQLITE.integer;
    return isWhole && typeof value === "string" && DIGITS.test(value)
      ? BigInt(value)
      : (value as SinkValue);
  }

  #add(row: Row, isOwner: boolean): void {
    const id = Number(row.writer);
    const deleted = isTrue(row.deleted);
    const gone = isTrue(row.gone) && !deleted;
    if (gone) this.#incomplete.add(id);
    else if (isOwner && !deleted) {
      this.#rows += 1;
      if (id === MESSAGES_ID) this.#ofMessages += 1;
    }
    if (id === MESSAGES_ID || gone) return; // C5
    let sum = this.#sums.get(id);
    if (sum === undefined) {
      sum = new RowDigest();
      this.#sums.set(id, sum);
    }
    sum.add(this.#textOf(row, deleted));
  }

  #textOf(row: Row, deleted: boolean): string {
    return this.#texts.stored(
      this.#shape.columns.map((_, at) => row[`v${at}`]),
      deleted,
    );
  }

  async #writers(): Promise<Map<number, Writer>> {
    const writers = new Map<number, Writer>();
    for (let after = 0; ; ) {
      const page: readonly Row[] = await this.#store.read({
        statement: `SELECT id, ${WRITER.join(", ")} FROM ${WRITERS_TABLE}
          WHERE table_name = ${literal(this.#shape.name)} AND id > ${after}
          ORDER BY id LIMIT ${PAGE_ROWS}`,
        params: [],
      });
      for (const row of page) writers.set(Number(row.id), writerOf(this.#marks, row));
      if (page.length < PAGE_ROWS) return writers;
      after = Number(page.at(-1)?.id);
    }
  }

  /** C2 */
  async #lookAgain(id: number): Promise<void> {
    const register = `LEFT JOIN ${WRITERS_TABLE} AS w ON w.id = ${id}`;
    const parts = (["owners", "others"] as const).map((side) => {
      const rows = `${this.#select(side)} WHERE s._tg_writer = ${id}`;
      return `SELECT ${this.#names().join(", ")} FROM (${rows}) AS r`;
    });
    const rows = await this.#store.read({
      statement: `SELECT r.*, ${aliasedNames(WRITER, "w")} FROM (SELECT 1 AS one) AS x
        ${register} LEFT JOIN (${parts.join(" UNION ALL ")}) AS r ON 1 = 1`,
      params: [],
    });
    const { object, rows: count, digest } = writerOf(this.#marks, rows[0] ?? {});
    const sum = new RowDigest();
    const before = this.#findings.length;
    for (const row of rows) {
      if (row.writer === null) continue;
      const deleted = isTrue(row.deleted);
      if (isTrue(row.gone) && !deleted) this.#report("missing", row, object);
      else sum.add(this.#textOf(row, deleted));
    }
    if (digest === null || this.#findings.length > before) return;
    if (sum.rows !== count || sum.hex !== digest) this.#report("changed", null, object);
  }

  #names(): string[] {
    const values = this.#shape.columns.map((_, at) => `v${at}`);
    const keys = this.#shape.keyColumns.map((_, at) => `k${at}`);
    return [...values, ...keys, "writer", "deleted", "gone"];
  }

  /** C3 */
  async #misplaced(): Promise<void> {
    const { keyColumns, target, name } = this.#shape;
    const [owners, others] = sideTables(this.#shape);
    const keys = (from: string) =>
      keyColumns.map((key, at) => `${this.#plain(`${from}.${key.quoted}`, key)} AS k${at}`);
    const added = await this.#store.read({
      statement: `SELECT ${keys("t").join(", ")} FROM ${target} AS t WHERE NOT EXISTS (
        SELECT 1 FROM ${owners} AS c WHERE ${sameKeys("c", "t", keyColumns)}
        AND NOT c._tg_deleted) ORDER BY ${listColumns(keyColumns, "t")} LIMIT ${FINDINGS_MAX}`,
      params: [],
    });
    for (const row of added) this.#report("added", row, null);
    const rank = (from: string) => `(${aliasedNames([...RANK, "_tg_writer"], from)})`;
    const misowned = await this.#store.read({
      statement: `SELECT ${keys("c").join(", ")}, w.object FROM ${owners} AS c
        LEFT JOIN ${WRITERS_TABLE} AS w ON w.id = c._tg_writer AND w.table_name = ${literal(name)}
        WHERE c._tg_open OR (c._tg_writer <> ${MESSAGES_ID} AND w.id IS NULL)
        OR EXISTS (SELECT 1 FROM ${others} AS o WHERE ${sameKeys("o", "c", keyColumns)}
        AND ${rank("o")} > ${rank("c")}) LIMIT ${FINDINGS_MAX}`,
      params: [],
    });
    for (const row of misowned) this.#report("misowned", row, row.object as string | null);
  }

  #report(kind: RowFinding["kind"], row: Row | null, object: string | null): void {
    if (this.#findings.length >= FINDINGS_MAX) return;
    const { name: table, keyColumns } = this.#shape;
    const key = row && JSON.stringify(keyColumns.map((_, at) => String(row[`k${at}`])));
    this.#findings.push({ table, kind, object, key });
  }
}

const MESSAGES_ID = 0;
/** What the register has of a writer. */
const WRITER = ["object", "record_key", "added", "row_count", "row_digest"] as const;

function isTrue(value: unknown): boolean {
  return value === true || value === 1;
}

/** C6 */
function writerOf(columns: ReadonlySet<string>, row: Row): Writer {
  const { object, row_count: rows, row_digest: stored, record_key: record, added } = row;
  const isKnown = rows != null && stored != null && !isTrue(added);
  return {
    object: String(object),
    rows: rows == null ? null : Number(rows),
    digest: isKnown ? digestIn(String(stored), columns, String(record)) : null,
  };
}
