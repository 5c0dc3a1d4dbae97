import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { StatementCache } from "./statement-cache.ts";

test("a statement stays prepared only while it is among the most recently used", () => {
  const db = new DatabaseSync(":memory:");
  const cache = new StatementCache(db, 2);
  const one = cache.get("SELECT 1");
  const two = cache.get("SELECT 2");
  expect(cache.get("SELECT 1")).toBe(one);
  cache.get("SELECT 3");
  expect(cache.size).toBe(2);
  expect(cache.get("SELECT 1")).toBe(one);
  expect(cache.get("SELECT 2")).not.toBe(two);
  db.close();
});
