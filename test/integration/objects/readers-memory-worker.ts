// Reads a generated stream of CSV and prints its row count and the peak memory.
// Started by readers-memory.test.ts with a small heap and --expose-gc.

import { systemPorts } from "../../../src/platform/index.ts";
import type { ByteSource } from "../../../src/ports/rows.ts";
import { createRowReader } from "../../../src/readers/row-reader.ts";

const totalBytes = Number(process.argv[2]);
const SAMPLE_ROWS = 200_000;
const { gc } = globalThis as { gc?: () => void };
if (gc === undefined) throw new Error("start it with --expose-gc");

/** Rows of some fifty bytes, one of them with a quoted line end; the same block again and again. */
function blockOf(rows: number): Buffer {
  const lines = Array.from({ length: rows }, (_, index) => {
    return `station-${index},2026-11-15T08:00:00Z,${index % 50}.5,"windy, é"\n`;
  });
  return Buffer.from(`${lines.join("")}last,2026-11-15T08:00:00Z,0,"two\nlines"\n`);
}

const block = blockOf(20_000);
const source: ByteSource = {
  size: null,
  async *stream() {
    yield Buffer.from("station,at,temperature,note\n");
    for (let sent = 0; sent < totalBytes; sent += block.length) yield block;
  },
  range: () => Promise.reject(new Error("CSV is not read by ranges")),
};

let rows = 0;
let heldBytesMax = 0;
const { signal } = new AbortController();
for await (const _ of createRowReader(systemPorts).read(source, {
  format: "auto",
  name: "a.csv",
  signal,
})) {
  if (++rows % SAMPLE_ROWS !== 0) continue;
  gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  heldBytesMax = Math.max(heldBytesMax, heapUsed + arrayBuffers);
}
const blocks = Math.ceil(totalBytes / block.length);
console.log(JSON.stringify({ rows, rowsSent: blocks * 20_001, heldBytesMax }));
