// A process that loads a large record is killed: all rows exist once, or none do, and the space of
// dead attempts is reclaimed. TIDEGATE_LOAD_ROWS sets the size.

import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { runChild } from "../support/child-process.ts";
import { patienceMs } from "../support/patience.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import type { LoadPoint } from "./load-worker.ts";

const ROWS = Number(process.env.TIDEGATE_LOAD_ROWS ?? 16_000);
const TIMEOUT_MS = patienceMs(60_000 + ROWS / 2);
const folder = useTemporaryFolder("load-kill");
const worker = join(import.meta.dirname, "load-worker.ts");
const { available, freshUrl } = await usePostgres();
const POINTS: readonly LoadPoint[] = ["staging", "in-chunk", "merging", "committed"];

async function attempt(database: string, nth: number, point: LoadPoint): Promise<string> {
  const args = [worker, database, `${ROWS}`, `${nth}`, point];
  const { stdout, stderr, exitCode } = await runChild(process.execPath, args);
  if (point === "none") expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  else expect(exitCode).toBe(null);
  return stdout.trim();
}

let clean: Promise<number> | null = null;

/** The size of a database into which nothing but one whole attempt was loaded. */
function cleanSize(): Promise<number> {
  const path = join(folder, "clean.db");
  clean ??= attempt(path, 1, "none").then(() => statSync(path).size);
  return clean;
}

type Ask = (sql: string) => Promise<Record<string, unknown>[]>;

/** The attempts whose rows are visible, with their numbers. */
async function visible(ask: Ask): Promise<number[][]> {
  const groups = await ask("SELECT v, count(*) AS n FROM t GROUP BY v");
  return groups.map(({ v, n }) => [Number(v), Number(n)]);
}

async function killAndRepeat(database: string, ask: Ask, point: LoadPoint): Promise<void> {
  await attempt(database, 1, point);
  const survived = point === "committed";
  expect(await visible(ask)).toEqual(survived ? [[1, ROWS]] : []);
  expect(await attempt(database, 2, "none")).toBe(survived ? "duplicate" : "committed");
  expect(await visible(ask)).toEqual([[survived ? 1 : 2, ROWS]]);
}

describe("after a load is killed, all of its rows exist once or none do", () => {
  test.each(POINTS)(
    "on SQLite: %s",
    async (point) => {
      const path = join(folder, `${point}.db`);
      const ask: Ask = async (sql) => {
        const db = new DatabaseSync(path);
        try {
          return db
            .prepare(sql)
            .all()
            .map((row) => ({ ...row }));
        } finally {
          db.close();
        }
      };
      await killAndRepeat(path, ask, point);
      if (point === "committed") return;
      // Staged rows are in a temporary file that the operating system removed with the process.
      expect(statSync(path).size).toBeLessThan((await cleanSize()) * 1.1);
    },
    TIMEOUT_MS,
  );

  test.skipIf(!available).each(POINTS)(
    "on PostgreSQL: %s",
    async (point) => {
      const url = await freshUrl();
      const ask: Ask = (sql) => queryPostgres(url, sql);
      await killAndRepeat(url, ask, point);
      if (point === "committed") return;
      expect(await ask("SELECT id FROM tidegate_sink_stages")).toEqual([]);
      const tables = await ask(`SELECT relname FROM pg_class
        WHERE relname LIKE '\\_tg\\_stage%' AND pg_table_is_visible(oid)`);
      expect(tables).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
