// Prefix lines: marks every line of a command's output with the task that wrote it.
//   P1. Memory is bounded: a line longer than LINE_BYTES_MAX is cut into several.
//   P2. A slow reader slows the command down; nothing is buffered beyond a few chunks.

import { Transform } from "node:stream";

const LINE_BYTES_MAX = 16_384;
const NEWLINE = 10;

export function createPrefixLines(prefix: string): Transform {
  const head = Buffer.from(prefix);
  let rest: Buffer = Buffer.alloc(0);
  const lineOf = (line: Buffer) => [head, line, Buffer.of(NEWLINE)];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const out: Buffer[] = [];
      let from = 0;
      for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, from)) {
        out.push(...pieces(text.subarray(from, end)).flatMap(lineOf));
        from = end + 1;
      }
      const last = pieces(text.subarray(from)); // P1
      rest = Buffer.from(last.pop() ?? Buffer.alloc(0)); // A copy: the chunk may be freed.
      out.push(...last.flatMap(lineOf));
      done(null, Buffer.concat(out));
    },
    flush(done) {
      done(null, rest.length === 0 ? null : Buffer.concat(lineOf(rest)));
    },
  });
}

function pieces(line: Buffer): Buffer[] {
  const all: Buffer[] = [];
  for (let from = 0; from === 0 || from < line.length; from += LINE_BYTES_MAX) {
    all.push(line.subarray(from, from + LINE_BYTES_MAX));
  }
  return all;
}
