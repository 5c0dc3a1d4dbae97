import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { epochMs } from "../../../core/units.ts";
import { prepareObjectReads, prepareObjectWrites } from "./object-rows.ts";
import { addObjectTables } from "./object-schema.ts";

const ROWS = 700;

function createRows() {
  const database = new DatabaseSync(":memory:");
  addObjectTables(database);
  const write = prepareObjectWrites(database);
  const keyOf = (row: number) => `key ${row}`.padStart(10, "0");
  const common = { bucket: 1, version: "null", marker: false, sizeBytes: 0, etag: "e" };
  const rest = { modifiedAt: epochMs(1), storageClass: "STANDARD", detail: "{}", pieces: [] };
  for (let row = 0; row < ROWS; row += 1) {
    write({ kind: "put-object", object: { ...common, key: keyOf(row), seq: row + 1, ...rest } });
    const upload = { bucket: 1, key: "k", id: `${row}`.padStart(4, "0"), ...rest };
    write({ kind: "put-upload", upload: { ...upload, startedAt: epochMs(1) } });
  }
  const reads = prepareObjectReads(database, (what) => {
    throw new Error(`${what} is damaged`);
  });
  return { reads, keyOf };
}

test("a listing returns every row once and in order, over any number of reads", () => {
  const { reads, keyOf } = createRows();
  const all = Array.from({ length: ROWS }, (_, row) => keyOf(row)).sort();
  for (const from of [0, 1, 8, 300, ROWS - 1]) {
    const start = { key: all[from] as string, after: true };
    const keys = [...reads.entries(1, start)].map(({ key }) => key);
    expect(keys).toEqual(all.slice(from + 1));
  }
  expect([...reads.entries(1, { key: "", after: false })]).toHaveLength(ROWS);
  const ids = [...reads.uploads(1, { key: "", after: false })].map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: ROWS }, (_, row) => `${row}`.padStart(4, "0")));
});
