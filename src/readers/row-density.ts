// Row density: bounds rows and cells by the bytes that are stored for them. A few bytes of a
// run-length encoding or of a compressed text can declare any number of rows.
//   RD1. Small objects count as RATIO_BYTES_MIN bytes, so that short repetitive files are read.
//   RD2. Counts that a footer declares are checked before anything is decoded. Counts in pages are
//        added up too, because a footer may declare fewer.

import type { RowLimits } from "./row-limits.ts";
import { type FilePosition, unreadable } from "./unreadable.ts";

export class RowDensity {
  readonly #name: string;
  readonly #bytes: number | null;
  readonly #rowsMax: number;
  readonly #cellsMax: number;
  #cells = 0;

  /** A source of unknown size has no bounds; `EXPANDED_BYTES_MAX` still holds. */
  constructor(name: string, size: number | null, limits: RowLimits) {
    this.#name = name;
    this.#bytes = size;
    const counted = size === null ? Infinity : Math.max(size, limits.ratioBytesMin); // RD1
    this.#rowsMax = counted * limits.rowsPerByteMax;
    this.#cellsMax = counted * limits.cellsPerByteMax;
  }

  get rowsMax(): number {
    return this.#rowsMax;
  }

  checkRows(rows: number, position: FilePosition): void {
    if (rows <= this.#rowsMax) return;
    throw this.#tooDense("rows", this.#rowsMax, "ROWS_PER_BYTE_MAX", position);
  }

  checkCells(cells: number, position: FilePosition): void {
    if (cells <= this.#cellsMax) return;
    throw this.#tooDense("values", this.#cellsMax, "CELLS_PER_BYTE_MAX", position);
  }

  /** Adds values that are about to be decoded (RD2). */
  addCells(cells: number, position: FilePosition): void {
    this.#cells += cells;
    this.checkCells(this.#cells, position);
  }

  #tooDense(what: string, max: number, limit: string, position: FilePosition) {
    const reason = `has more than ${max} ${what} in ${this.#bytes} bytes, over ${limit}`;
    return unreadable(this.#name, reason, position);
  }
}
