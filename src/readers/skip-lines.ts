// Skip lines: drops the lines above the header of a CSV file.
//   SK1. CRLF, LF and CR each end one line, as for all lines of CSV (CL1 of csv-lines.ts).
//   SK2. A file with fewer lines has no text left, which is not an error: it has no rows.

import type { Buffer } from "node:buffer";

const LF = 0x0a;
const CR = 0x0d;

export async function* skipLines(
  text: AsyncIterable<Buffer>,
  count: number,
): AsyncGenerator<Buffer> {
  let remaining = count;
  let afterCr = false;
  for await (const chunk of text) {
    let at = 0;
    while (at < chunk.length && (remaining > 0 || afterCr)) {
      const byte = chunk[at];
      if (afterCr) {
        afterCr = false;
        if (byte === LF) at += 1; // SK1: the second half of a CRLF.
        continue;
      }
      if (byte === LF || byte === CR) remaining -= 1;
      afterCr = byte === CR;
      at += 1;
    }
    if (at < chunk.length) yield chunk.subarray(at);
  }
}
