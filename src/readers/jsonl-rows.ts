// JSON Lines: one JSON object per line.
//   JL1. A line ends with LF or CRLF; the last may end with the object.
//   JL2. A blank line is not a row, but counts as a line.
//   JL3. A line over the limit is rejected before it is buffered.

import { Buffer } from "node:buffer";
import type { NumberedRow } from "../ports/rows.ts";
import { parseRow } from "./json-row.ts";
import { describeBytes, type RowLimits } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

const NEWLINE = 0x0a;

/** The rows that end in each chunk of `text`, chunk by chunk. */
export async function* jsonlRows(
  text: AsyncIterable<Buffer>,
  name: string,
  limits: RowLimits,
): AsyncGenerator<readonly NumberedRow[]> {
  let line = 1;
  let parts: Buffer[] = [];
  let heldBytes = 0;

  function hold(part: Buffer): void {
    heldBytes += part.length;
    if (heldBytes > limits.rowBytesMax) {
      const reason = `is longer than ${describeBytes(limits.rowBytesMax)}`;
      throw unreadable(name, reason, { line }); // JL3
    }
    if (part.length > 0) parts.push(part);
  }

  function endLine(): NumberedRow | null {
    const [only] = parts;
    const bytes = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
    parts = [];
    heldBytes = 0;
    const row = rowOf(bytes.toString("utf8"), name, line);
    line++;
    return row;
  }

  for await (const chunk of text) {
    const rows: NumberedRow[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      hold(chunk.subarray(start, end));
      const row = endLine();
      if (row !== null) rows.push(row);
      start = end + 1;
    }
    hold(chunk.subarray(start));
    yield rows;
  }
  const last = endLine(); // JL1
  if (last !== null) yield [last];
}

function rowOf(text: string, name: string, line: number): NumberedRow | null {
  if (/^[ \t\r]*$/.test(text)) return null; // JL2
  return { line, value: parseRow(text, name, line) };
}
