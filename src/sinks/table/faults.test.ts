import { expect, test } from "vitest";
import { postgresFault } from "./databases/postgres-database.ts";
import { sqliteFault } from "./databases/sqlite-database.ts";

const sqlite = (errcode: number) => sqliteFault(Object.assign(new Error("e"), { errcode }), "x.db");
const postgres = (code: string) => postgresFault(Object.assign(new Error("e"), { code }));

test.each([
  ["a full disk", sqlite(13), postgres("53100"), "TG_SINK_UNAVAILABLE", "later"],
  ["a lock of another process", sqlite(5), postgres("55P03"), "TG_SINK_UNAVAILABLE", "later"],
  ["a failing disk", sqlite(10 | (3 << 8)), postgres("58030"), "TG_SINK_UNAVAILABLE", "later"],
  ["a database out of reach", sqlite(14), postgres("ECONNREFUSED"), "TG_SINK_UNAVAILABLE", "later"],
  ["a missing permission", sqlite(3), postgres("42501"), "TG_SINK_UNAVAILABLE", "later"],
  ["a violated constraint", sqlite(19 | (8 << 8)), postgres("23505"), "TG_SINK_REFUSED", "never"],
  ["a missing table", sqlite(1), postgres("42P01"), "TG_SINK_REFUSED", "never"],
  ["a value too big", sqlite(18), postgres("54000"), "TG_SINK_REFUSED", "never"],
])("%s has one verdict on both databases", (_, onSqlite, onPostgres, code, retry) => {
  expect(onSqlite).toMatchObject({ code, retry });
  expect(onPostgres).toMatchObject({ code, retry });
});

test("a damaged file is reported as damaged, and a bug is passed on unchanged", () => {
  expect(sqlite(26)).toMatchObject({ code: "TG_STORE_CORRUPT" });
  const bug = new TypeError("bug");
  expect(sqliteFault(bug, "x.db")).toBe(bug);
});
