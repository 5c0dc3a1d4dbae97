// CSV format: the ways in which CSV objects are written.

/** "auto" is UTF-8, or UTF-16 if the file starts with its byte order mark. */
export const CSV_ENCODINGS = [
  "auto",
  "utf-8",
  "utf-16",
  "utf-16le",
  "utf-16be",
  "latin1",
  "windows-1252",
] as const;
export type CsvEncoding = (typeof CSV_ENCODINGS)[number];

/** How CSV objects are written. */
export interface CsvOptions {
  /** One character between cells. Default: a comma, or a tab in objects named *.tsv. */
  readonly delimiter?: string;
  /** One character around cells, doubled inside them; null for none. Default: `"`. */
  readonly quote?: string | null;
  /** Default: "auto". */
  readonly encoding?: CsvEncoding;
  /** True: the first row has the names. False: column_1, column_2, ... Or the names. */
  readonly header?: boolean | readonly string[];
  /** Lines above the header, or above the first row. Default: 0. */
  readonly skipLines?: number;
  /** Columns with numbers such as 1.234,56, which become 1234.56. Default: none. */
  readonly decimalComma?: readonly string[];
}
