import { expect, test } from "vitest";
import { type SqlParam, sqlProblem, sqlWrite } from "./sql-statement.ts";

const problem = (statement: unknown, params: unknown = []) =>
  sqlProblem({ statement: statement as string, params: params as SqlParam[] });

test.each([
  "INSERT INTO t VALUES (?, ?)",
  "  update t set v = v + 1 where id = $1;  ",
  "-- a note\nDELETE FROM t",
  "/* one; two */ WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
  "INSERT INTO t VALUES ('a; COMMIT', \"b;c\")",
  "INSERT INTO t VALUES ('it''s; fine') -- the end; really",
  "SELECT f($$ a; b $$), $tag$ ; $tag$",
])("accepts %j", (statement) => {
  expect(problem(statement)).toBeNull();
});

test.each([
  ["COMMIT", /must start with/],
  ["/* x */ ROLLBACK", /must start with/],
  ["DROP TABLE t", /must start with/],
  ["", /must start with/],
  ["INSERT INTO t VALUES (1); COMMIT", /one statement/],
  ["DELETE FROM t; DELETE FROM u", /one statement/],
  ["SELECT E'\\'; COMMIT; --'", /escapes a quote/],
  ["INSERT INTO t VALUES ('open; COMMIT)", /does not end/],
  [7, /must be text/],
  [`SELECT '${"x".repeat(100_000)}'`, /more than 100000 characters/],
])("rejects %j", (statement, reason) => {
  expect(problem(statement)).toMatch(reason);
});

test("names the parameter that no database stores", () => {
  expect(problem("SELECT ?, ?", [1, undefined])).toMatch(/parameter 2/);
  expect(problem("SELECT ?", [Number.NaN])).toMatch(/parameter 1/);
  expect(problem("SELECT ?", [{}])).toMatch(/parameter 1/);
  expect(problem("SELECT ?", 1)).toMatch(/must be a list/);
});

test("writes booleans and dates as each database reads them", () => {
  const params = [true, new Date(0), 5n];
  const time = "1970-01-01T00:00:00.000Z";
  expect(sqlWrite({ statement: "s", params }, "sqlite").params).toEqual([1, time, 5n]);
  expect(sqlWrite({ statement: "s", params }, "postgres").params).toEqual(["true", time, 5n]);
});
