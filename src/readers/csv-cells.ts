// CSV cells: names the cells of a record, and reads numbers with a decimal comma.
//   CC1. Only the columns that the options name are read as numbers. A cell there is empty or a
//        number; anything else is rejected, because "1.5" and "1,5" are then different amounts.
//   CC2. The result is text, with a point and without separators of thousands, so no digit is lost.

import type { CsvOptions } from "../core/csv-format.ts";
import type { Row } from "../ports/rows.ts";
import { unreadable } from "./unreadable.ts";

export interface CellReader {
  /** A row of the cells, which are as many as the names. */
  rowOf(cells: readonly string[], line: number): Row;
}

/** The names of columns in a file without a header: column_1, column_2, ... */
export function numberedNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `column_${at + 1}`);
}

export function createCellReader(
  names: readonly string[],
  { decimalComma = [] }: CsvOptions,
  file: { readonly name: string; readonly line: number },
): CellReader {
  const unknown = decimalComma.find((column) => !names.includes(column));
  if (unknown !== undefined) {
    const reason = `the header has no ${JSON.stringify(unknown)}, which csv.decimalComma names`;
    throw unreadable(file.name, reason, { line: file.line });
  }
  // Not by assignment: a column may be named __proto__.
  const plain = (cells: readonly string[]) =>
    Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
  if (decimalComma.length === 0) return { rowOf: plain };
  const isNumber = names.map((name) => decimalComma.includes(name));
  return {
    rowOf(cells, line) {
      const textOf = (at: number) => {
        const cell = cells[at] ?? "";
        if (!isNumber[at]) return cell;
        const number = withPoint(cell);
        if (number !== null) return number;
        // Without the cell, which the pipeline may mask.
        const reason = `the cell in ${JSON.stringify(names[at])} is not a number with a decimal comma`;
        throw unreadable(file.name, reason, { line });
      };
      return Object.fromEntries(names.map((name, at) => [name, textOf(at)]));
    },
  };
}

/** Sign, whole part with points, spaces or apostrophes between thousands, fraction. */
const NUMBER = /^([+-]?)(\d{1,3}(?:[.'\u2019 \u00a0\u202f]\d{3})+|\d+)(?:,(\d+))?$/;

/** The number with a decimal point; null if the cell is not a number (CC1). */
function withPoint(cell: string): string | null {
  const text = cell.trim();
  if (text === "") return "";
  const [, sign, whole, fraction] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return null;
  const digits = whole.replaceAll(/\D/g, "");
  return `${sign === "-" ? "-" : ""}${digits}${fraction === undefined ? "" : `.${fraction}`}`; // CC2
}
