import { expect, test } from "vitest";
import { counted } from "./counted.ts";

test("a count has the number of its noun", () => {
  expect([0, 1, 2].map((count) => counted(count, "row"))).toEqual(["0 rows", "1 row", "2 rows"]);
  expect([1, 2].map((count) => counted(count, "entry", "entries"))).toEqual([
    "1 entry",
    "2 entries",
  ]);
});
