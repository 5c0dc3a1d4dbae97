import { expect, test } from "vitest";
import type { KeyPosition } from "../../../ports/broker/object-change.ts";
import { walk } from "./object-listing.ts";

/** Lists rows, and counts how often the store was searched and how many rows were looked at. */
function list(keys: readonly string[], after = "") {
  const counts = { searches: 0, rows: 0 };
  function* rowsFrom(from: KeyPosition) {
    counts.searches += 1;
    const start = keys.findIndex((key) => (from.after ? key > from.key : key >= from.key));
    for (const key of start === -1 ? [] : keys.slice(start)) {
      counts.rows += 1;
      yield { key };
    }
  }
  const input = { prefix: "", delimiter: "/", limit: 1_000 };
  const start = { key: after, after: after !== "" };
  const { entries, prefixes } = walk(input, start, rowsFrom, () => "take", after);
  return { listed: [...entries.map(({ key }) => key), ...prefixes], ...counts };
}

function folders(count: number, files: number): string[] {
  const names = Array.from({ length: files }, (_, file) => `${file}`.padStart(4, "0"));
  return Array.from({ length: count }, (_, at) => `${at}`.padStart(4, "0")).flatMap((folder) =>
    names.map((name) => `${folder}/${name}`),
  );
}

test("small folders cost their rows, and no search for each of them (L2)", () => {
  const { listed, searches, rows } = list(folders(500, 2));
  expect(listed).toHaveLength(500);
  expect([searches, rows]).toEqual([1, 1_000]);
});

test("a large folder costs a few rows, however much is in it (L2)", () => {
  const { listed, searches, rows } = list([...folders(3, 2_000), "last"]);
  expect(listed).toEqual(["last", "0000/", "0001/", "0002/"]);
  expect(searches).toBe(4);
  expect(rows).toBeLessThan(50);
});

test("a listing that continues after a folder does not list it again (L1)", () => {
  const { listed, rows } = list([...folders(3, 2_000), "last"], "0001/");
  expect(listed).toEqual(["last", "0002/"]);
  expect(rows).toBeLessThan(50);
});
