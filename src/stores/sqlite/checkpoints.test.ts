import { renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { Checkpoints } from "./checkpoints.ts";
import { hasLog, openGuard, renewLog } from "./renew-log.ts";

const folder = useTemporaryFolder("checkpoints");

test("a guard is opened with a time to wait for locks of other processes (K3)", () => {
  const path = join(folder, "guarded.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE one (id INTEGER)");
  const guard = openGuard(path);
  expect(guard.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
  guard.close();
  database.close();
});

// Earlier versions read NOOP as PASSIVE; without a version, it is that of this process.
test.each(["3.50.4", "3.51.0", undefined])(
  "a look at the log folds nothing, whether or not SQLite %s knows NOOP (K1)",
  (sqliteVersion) => {
    const path = join(folder, `looks-${sqliteVersion}.db`);
    const database = new DatabaseSync(path);
    database.exec("PRAGMA journal_mode = WAL");
    const options = { path, pages: 20, commitsPerLook: 1, sqliteVersion };
    const checkpoints = new Checkpoints(database, options);
    database.exec("CREATE TABLE row (text TEXT)"); // Two pages of log.
    const grown: number[] = [];
    for (let commit = 1; commit <= 50; commit += 1) {
      const before = statSync(path).size;
      checkpoints.around(() => database.exec("INSERT INTO row VALUES (zeroblob(4000))"));
      if (statSync(path).size > before) grown.push(commit);
    }
    expect(checkpoints.failure).toBeNull();
    expect(grown).toEqual([7, 14, 21, 28, 35, 42, 49]); // Three pages each.
    checkpoints.close();
  },
);

test("what a reader kept from being folded is not folded as the last connection closes (K3)", () => {
  const path = join(folder, "read.db");
  let reader: DatabaseSync | null = null;
  /** Its last reader leaves after the fold of the whole log has begun. */
  class Writer extends DatabaseSync {
    override close(): void {
      reader?.close();
      super.close();
    }
  }
  const database = new Writer(path);
  database.exec("PRAGMA journal_mode = WAL");
  const checkpoints = new Checkpoints(database, { path, pages: 1_000 });
  database.exec("CREATE TABLE row (id INTEGER)");
  reader = new DatabaseSync(path, { readOnly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM row").get();
  database.exec("INSERT INTO row VALUES (1)");
  checkpoints.close();
  expect(hasLog(path)).toBe(true);
  expect(renewLog(path)).toBe("renewed");
  const next = new DatabaseSync(path);
  expect(next.prepare("SELECT id FROM row").all()).toEqual([{ id: 1 }]);
  next.close();
});

test("a connection that cannot create a mark does not fold as it closes (F1)", () => {
  const path = join(folder, `${"n".repeat(246)}.db`); // Too long for a mark, not for a log.
  const draft = join(folder, "draft.db");
  const created = new DatabaseSync(draft);
  created.exec("PRAGMA journal_mode = WAL; CREATE TABLE row (id INTEGER)");
  created.close();
  renameSync(draft, path);
  const database = new DatabaseSync(path);
  const checkpoints = new Checkpoints(database, { path, pages: 1_000 });
  checkpoints.around(() => database.exec("INSERT INTO row VALUES (1)"));
  checkpoints.close();
  expect(hasLog(path)).toBe(true);
});
