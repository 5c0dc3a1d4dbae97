// Unreadable: the one error for content that cannot be read (RW3).

import { TidegateError } from "../core/errors.ts";

export interface FilePosition {
  /** The physical line, in formats that have lines. */
  readonly line?: number;
  /** The number of the row, in formats without lines. */
  readonly row?: number;
  readonly cause?: unknown;
}

/** `reason` is the end of the sentence "<name>, line <line>: ...". */
export function unreadable(
  name: string,
  reason: string,
  position: FilePosition = {},
): TidegateError {
  const line = position.line === undefined ? "" : `, line ${position.line}`;
  const row = position.row === undefined ? "" : `, row ${position.row}`;
  const message = `${name}${line}${row}: ${reason}`;
  return new TidegateError("TG_OBJECT_UNREADABLE", message, { cause: position.cause });
}
