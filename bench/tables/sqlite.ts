// SQLite: a bare insert loop, prepared, in one transaction, against the sink.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { clock, SPEC, type TableBench } from "./measure.ts";

const turn = { afterTurn: (work: () => void) => void setImmediate(work) };

export async function openSqliteBench(folder: string): Promise<TableBench> {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ clock, turn }, { path });
  const bare = new DatabaseSync(join(folder, "bare.db"));
  bare.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;
    CREATE TABLE bare (id TEXT NOT NULL PRIMARY KEY, customer TEXT, total REAL, lines INTEGER)
    WITHOUT ROWID`);
  // Both tables are read by connections that wrote nothing, with the same small cache.
  const readers = {
    bare: new DatabaseSync(join(folder, "bare.db"), { readOnly: true }),
    orders: new DatabaseSync(path, { readOnly: true }),
  };
  let folded = false;
  return {
    name: "SQLite",
    bareName: "bare insert loop",
    ledger,
    sink: createTableSink(SPEC, { dialect: "sqlite", path }),
    async loadBare(rows) {
      const insert = bare.prepare("INSERT INTO bare VALUES (?, ?, ?, ?)");
      bare.exec("BEGIN IMMEDIATE");
      for (const { id, customer, total, lines } of rows) insert.run(id, customer, total, lines);
      bare.exec("COMMIT");
    },
    async sum(table) {
      // Reading through the log would measure its length.
      if (!folded) fold(path, join(folder, "bare.db"));
      folded = true;
      readers[table].prepare(`SELECT sum(total) FROM ${table}`).get();
    },
    async close() {
      readers.bare.close();
      readers.orders.close();
      bare.close();
      await ledger.close();
    },
  };
}

function fold(...paths: readonly string[]): void {
  for (const path of paths) {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
  }
}
