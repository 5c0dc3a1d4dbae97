// Memory of the readers: streamed data does not stay in memory. A flag limits the heap, and the
// child measures memory outside of it after a collection.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isFullSize } from "../../support/full-size.ts";

const WORKER = join(import.meta.dirname, "readers-memory-worker.ts");
/** Three times the heap. */
const HEAP_MIB = isFullSize ? 64 : 24;
const CSV_BYTES = HEAP_MIB * 3_125_000;
const ROWS_MIN = CSV_BYTES / 66;
/** Far below the stream; the code itself and one chunk in every stage take less. */
const HELD_BYTES_MAX = (isFullSize ? 32 : 20) * 1_024 ** 2;

test("a CSV stream far larger than the heap is read to its last row in little memory", async () => {
  const args = ["--expose-gc", `--max-old-space-size=${HEAP_MIB}`, WORKER, String(CSV_BYTES)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { rows, rowsSent, heldBytesMax } = JSON.parse(stdout);
  expect(rows).toBe(rowsSent);
  expect(rows).toBeGreaterThan(ROWS_MIN);
  expect(heldBytesMax).toBeLessThan(HELD_BYTES_MAX);
});
