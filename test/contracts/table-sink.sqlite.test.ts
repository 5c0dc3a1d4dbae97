import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger.ts";
import { turn } from "./real-ports.ts";
import { describeTableSink } from "./table-sink.ts";
import type { TestDatabase } from "./table-sink-world.ts";

const folder = mkdtempSync(join(tmpdir(), "tidegate-sink-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function freshDatabase(): TestDatabase {
  files += 1;
  const path = join(folder, `${files}.db`);
  return {
    address: { dialect: "sqlite", path },
    openLedger: async (clock) => createSqliteLedger({ clock, turn }, { path }),
    async query(sql) {
      const db = new DatabaseSync(path);
      try {
        return db
          .prepare(sql)
          .all()
          .map((row) => ({ ...row }));
      } finally {
        db.close();
      }
    },
  };
}

describeTableSink({ name: "SQLite", freshDatabase: async () => freshDatabase() });
