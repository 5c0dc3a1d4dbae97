// Unreadable: the one way to say that an object's content is at fault (RW3).

import { TidegateError } from "../core/errors.ts";

export interface FilePosition {
  /** The physical line, in formats that have lines. */
  readonly line?: number;
  /** The ordinal of the row, in formats that have none. */
  readonly row?: number;
  readonly cause?: unknown;
}

/** `reason` is the end of the sentence "<name>, line <line>: ...". */
export function unreadable(name: string, reason: string, place: FilePosition = {}): TidegateError {
  const line = place.line === undefined ? "" : `, line ${place.line}`;
  const row = place.row === undefined ? "" : `, row ${place.row}`;
  const message = `${name}${line}${row}: ${reason}`;
  return new TidegateError("TG_OBJECT_UNREADABLE", message, { cause: place.cause });
}
