// CSV: a header, then one record per row. csv-parse splits the text, this file makes rows.
//   CV1. Cells are strings, as written. Numbers, dates and nulls are for the schema to interpret,
//        except where the options name a column (CC1 of csv-cells.ts).
//   CV2. Every record has as many cells as the header has names, and no name occurs twice.
//        Otherwise it is rejected with its line: a shifted cell is worse than a missing file.
//        Without a header, the first record decides how many cells there are.
//   CV3. Records end with LF, CRLF or CR; empty lines are skipped.
//   CV4. A record over the limit is rejected while it grows, so that an unclosed quote does not
//        fill the memory.

import type { Buffer } from "node:buffer";
import { CsvError, Parser } from "csv-parse";
import type { CsvOptions } from "../core/csv-format.ts";
import { reasonOf } from "../core/errors.ts";
import type { NumberedRow, Row } from "../ports/rows.ts";
import { type CellReader, createCellReader, numberedNames } from "./csv-cells.ts";
import { CsvLines, type RecordExtent } from "./csv-lines.ts";
import { describeBytes, type RowLimits } from "./row-limits.ts";
import { skipLines } from "./skip-lines.ts";
import { unreadable } from "./unreadable.ts";

interface CsvRecord {
  readonly cells: readonly string[];
  /** Bytes from the start of the text to the end of the record, its line end included. */
  readonly end: number;
}

export interface CsvSettings {
  readonly name: string;
  /** Used if the options do not name one. */
  readonly delimiter: string;
  readonly options: CsvOptions;
  readonly limits: RowLimits;
}

/** The rows that end in each chunk of `text`, chunk by chunk. */
export async function* csvRows(
  text: AsyncIterable<Buffer>,
  settings: CsvSettings,
): AsyncGenerator<readonly NumberedRow[]> {
  const records: CsvRecord[] = [];
  const { header = true, skipLines: skipped = 0 } = settings.options;
  const parser = createParser(settings, records);
  const lines = new CsvLines(skipped + 1);
  let columns: Columns | null = null;

  async function parse(chunk: Buffer | null): Promise<NumberedRow[]> {
    const failure = await write(parser, chunk);
    const rows: NumberedRow[] = [];
    for (const { cells, end } of records.splice(0)) {
      const extent = lines.endRecord(end);
      checkLength(extent, settings);
      const { line } = extent;
      const first = columns === null;
      columns ??= columnsOf(cells, line, settings);
      if (first && header === true) continue;
      rows.push({ line, value: rowOf(columns, cells, line, settings) });
    }
    if (failure === null) return rows;
    const line = lines.openRecordLine();
    throw unreadable(settings.name, reasonOfCsv(failure), { line }); // Its message quotes cells.
  }

  try {
    for await (const chunk of skipped > 0 ? skipLines(text, skipped) : text) {
      lines.feed(chunk);
      yield await parse(chunk);
      checkLength(lines.openRecord(), settings); // CV4
    }
    yield await parse(null);
  } finally {
    parser.destroy();
  }
}

/** The parser adds records to `records` synchronously, in the call that writes the bytes. */
function createParser({ delimiter, options }: CsvSettings, records: CsvRecord[]): Parser {
  const { quote = '"' } = options;
  const parser = new Parser({
    delimiter: options.delimiter ?? delimiter,
    quote,
    escape: quote,
    record_delimiter: ["\r\n", "\n", "\r"], // CV3
    skip_empty_lines: true,
    relax_column_count: true, // CV2 is checked below, where the line is available.
    bom: false,
    on_record(cells: string[], { bytes }: { readonly bytes: number }) {
      records.push({ cells, end: bytes });
      return null; // Dropped here, so that the parser's own queue stays empty.
    },
  });
  parser.on("error", () => {}); // The write callback reports it.
  return parser;
}

/** Writes one chunk, or null for the end; resolves with the parser's failure or null. */
function write(parser: Parser, chunk: Buffer | null): Promise<unknown> {
  return new Promise((resolve) => {
    const done = (failure?: Error | null) => resolve(failure ?? null);
    if (chunk === null) parser.end(done);
    else parser.write(chunk, done);
  });
}

interface Columns {
  readonly names: readonly string[];
  readonly reader: CellReader;
}

/** The columns of a file, by its options or by its first record. */
function columnsOf(cells: readonly string[], line: number, settings: CsvSettings): Columns {
  const { name, options } = settings;
  const { header = true } = options;
  let names = cells;
  if (header === true) checkNames(cells, line, settings);
  else names = header === false ? numberedNames(cells.length) : header;
  return { names, reader: createCellReader(names, options, { name, line }) };
}

function checkNames(names: readonly string[], line: number, { name }: CsvSettings): void {
  const unique = new Set<string>();
  for (const text of names) {
    if (unique.has(text)) {
      throw unreadable(name, `the header has ${JSON.stringify(text)} twice`, { line }); // CV2
    }
    unique.add(text);
  }
}

function rowOf(
  { names, reader }: Columns,
  cells: readonly string[],
  line: number,
  { name }: CsvSettings,
): Row {
  if (cells.length !== names.length) {
    const counts = `has ${counted(cells.length)} where the header has ${names.length}`;
    throw unreadable(name, `the row ${counts}${delimiterHint(names)}`, { line }); // CV2
  }
  return reader.rowOf(cells, line);
}

/** A header of one name with another delimiter in it was probably not written with commas. */
function delimiterHint(names: readonly string[]): string {
  const other = names.length === 1 ? /[;\t|]/.exec(names[0] ?? "")?.[0] : undefined;
  if (other === undefined) return "";
  return `; if cells are separated by ${JSON.stringify(other)}, set csv.delimiter in the pipeline`;
}

function counted(cells: number): string {
  return cells === 1 ? "1 cell" : `${cells} cells`;
}

function checkLength({ line, bytes }: RecordExtent, { name, limits }: CsvSettings): void {
  if (bytes <= limits.rowBytesMax) return;
  const reason = `the row is longer than ${describeBytes(limits.rowBytesMax)}`;
  throw unreadable(name, `${reason}; is a quote not closed?`, { line });
}

/** Rewords errors of csv-parse, whose own texts have other line numbers. */
function reasonOfCsv(failure: unknown): string {
  switch (failure instanceof CsvError ? failure.code : null) {
    case "CSV_QUOTE_NOT_CLOSED":
      return "a quote is not closed before the object ends";
    case "CSV_INVALID_CLOSING_QUOTE":
      return "a quoted cell continues after its closing quote";
    case "INVALID_OPENING_QUOTE":
      return "a quote is in the middle of an unquoted cell";
    default:
      return `is not CSV: ${reasonOf(failure)}`;
  }
}
