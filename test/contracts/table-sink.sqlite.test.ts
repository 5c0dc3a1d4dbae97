import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqliteDatabase } from "../../src/sinks/table/databases/sqlite-database.ts";
import { FoldMark } from "../../src/stores/sqlite/fold-mark.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { turn } from "../support/stores/real-ports.ts";
import {
  OBSERVATIONS,
  openSink,
  specOf,
  type TestDatabase,
} from "../support/stores/table-sink-world.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { describeTableSink } from "./table-sink.ts";
import { describeExisting, describeTypes } from "./table-sink-existing.ts";
import { describeRowLineage } from "./table-sink-lineage.ts";
import { describeAlone, describeWithLedger } from "./table-sink-modes.ts";
import { describeStages } from "./table-sink-stages.ts";

const folder = useTemporaryFolder("sink");
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

const subject = { name: "SQLite", freshDatabase: async () => freshDatabase() };
describeTableSink(subject);
describeWithLedger(subject);
describeAlone(subject);
describeStages(subject);
describeExisting(subject);
describeTypes(subject);
describeRowLineage(subject);

test("a file that cannot be opened is a retryable failure, and is opened later", async () => {
  const path = join(folder, "later", "sink.db");
  const sink = openSink("idempotent", specOf(OBSERVATIONS), { dialect: "sqlite", path });
  const unavailable = { code: "TG_SINK_UNAVAILABLE", retry: "later" };
  await expect(sink.prepare()).rejects.toMatchObject(unavailable);
  mkdirSync(join(folder, "later"));
  await sink.prepare();
  await sink.close();
});

test("a file that is not a database is reported as damaged, and left unchanged", async () => {
  const path = join(folder, "text.db");
  writeFileSync(path, "these are not the pages of a database, however long one looks at them");
  const sink = openSink("direct", specOf(OBSERVATIONS), { dialect: "sqlite", path });
  await expect(sink.prepare()).rejects.toMatchObject({ code: "TG_STORE_CORRUPT" });
});

test("a sink's own file in doubt gets into a new file before it is written again", async () => {
  const path = join(folder, "doubtful.db");
  const insert = (id: number) => ({
    statement: "INSERT INTO numbers VALUES (?)",
    params: [id],
    once: true,
  });
  const create = { statement: "CREATE TABLE numbers (id INTEGER)", params: [], once: true };
  const before = openSqliteDatabase(path);
  await before.transact([create, insert(1)], new AbortController().signal);
  await before.close();
  const inode = statSync(path).ino;
  const mark = new FoldMark(path);
  mark.begin();
  mark.fail();
  const after = openSqliteDatabase(path);
  await after.transact([insert(2)], new AbortController().signal);
  expect(await after.read({ statement: "SELECT id FROM numbers", params: [] })).toEqual([
    { id: 1 },
    { id: 2 },
  ]);
  expect(statSync(path).ino).not.toBe(inode);
  expect([mark.exists, mark.isFailed]).toEqual([false, false]);
  await after.close();
});
