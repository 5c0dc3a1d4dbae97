import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { Checkpoints } from "./checkpoints.ts";
import { FoldMark } from "./fold-mark.ts";
import {
  closeUnfolded,
  foldLog,
  hasLog,
  isInUse,
  megabytes,
  openGuard,
  renewLog,
} from "./renew-log.ts";

const folder = useTemporaryFolder("renew-log");
const ROWS = 100;
let files = 0;

/** A database whose log was not folded, as a killed process leaves it. */
function createLeft(): string {
  files += 1;
  const path = join(folder, `${files}.db`);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  database.exec("CREATE TABLE row (id INTEGER PRIMARY KEY)");
  for (let id = 1; id <= ROWS; id += 1) database.exec(`INSERT INTO row VALUES (${id})`);
  closeUnfolded(database, path);
  return path;
}

function rowsIn(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare("SELECT count(*) AS rows FROM row").get()?.rows);
  } finally {
    database.close();
  }
}

const inodeOf = (path: string) => statSync(path).ino;

test("a connection that is closed unfolded leaves the log with its content (N7)", () => {
  const path = createLeft();
  expect(hasLog(path)).toBe(true);
  expect(isInUse(path)).toBe(false);
  expect(hasLog(path)).toBe(true);
  expect(rowsIn(path)).toBe(ROWS);
});

test("a log without a mark is folded into the same file (N3)", () => {
  const path = createLeft();
  const before = inodeOf(path);
  expect(renewLog(path)).toBe("renewed");
  expect(inodeOf(path)).toBe(before);
  expect(hasLog(path)).toBe(false);
  expect(rowsIn(path)).toBe(ROWS);
});

test("a file whose fold is open is replaced by a copy, and reports its progress (N5)", () => {
  const path = createLeft();
  new FoldMark(path).begin();
  new FoldMark(path).fail();
  const before = openGuard(path);
  const inode = inodeOf(path);
  before.close();
  const size = megabytes(statSync(path).size);
  const lines: string[] = [];
  expect(renewLog(path, (line) => lines.push(line))).toBe("renewed");
  expect(lines).toEqual([
    `${path} was not closed properly, or a write to it failed: copying ${size} into a new file`,
    `${path} is in a new file now; it is written again`,
  ]);
  expect(inodeOf(path)).not.toBe(inode);
  expect(hasLog(path)).toBe(false);
  for (const suffix of ["-folding", "-failed", ".new"]) {
    expect(existsSync(`${path}${suffix}`)).toBe(false);
  }
  expect(rowsIn(path)).toBe(ROWS);
});

test("what a doubtful page has in the file does not matter: the log has it (N5)", () => {
  const path = createLeft();
  const database = new DatabaseSync(path);
  new FoldMark(path).begin();
  database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  closeUnfolded(database, path);
  const zeros = Buffer.alloc(statSync(path).size);
  writeFileSync(path, zeros); // No page of the fold has reached the disk.
  expect(renewLog(path)).toBe("renewed");
  expect(rowsIn(path)).toBe(ROWS);
});

test("a file in use is neither replaced nor folded into, and keeps its marks (N4, N6)", () => {
  const path = createLeft();
  new FoldMark(path).begin();
  const inode = inodeOf(path);
  const reader = openGuard(path);
  expect(renewLog(path)).toBe("in-use");
  expect(isInUse(path)).toBe(true);
  reader.close();
  expect(inodeOf(path)).toBe(inode);
  expect(new FoldMark(path).exists).toBe(true);
  expect(hasLog(path)).toBe(true);
  expect(renewLog(path)).toBe("renewed");
  expect(rowsIn(path)).toBe(ROWS);
});

test("marks of a file that is gone do not create one", () => {
  const path = join(folder, "gone.db");
  new FoldMark(path).begin();
  expect(renewLog(path)).toBe("no-log");
  expect(existsSync(path)).toBe(false);
  expect(new FoldMark(path).exists).toBe(false);
});

test("only one connection folds at a time (F2)", () => {
  const path = createLeft();
  const first = new FoldMark(path);
  const second = new FoldMark(path);
  expect([first.begin(), second.begin()]).toEqual([true, false]);
  first.end();
  expect(second.begin()).toBe(true);
});

test("without a mark nothing is folded, and a renewal reports why there is none (F1)", () => {
  const path = createLeft();
  const size = statSync(path).size;
  const database = new DatabaseSync(path);
  const unmarkable = join(folder, "missing", "marks.db");
  expect(() => foldLog(database, unmarkable)).toThrow("ENOENT");
  const options = { path: unmarkable, pages: ROWS, commitsPerLook: 1 };
  const checkpoints = new Checkpoints(database, options);
  checkpoints.around(() => database.exec("INSERT INTO row VALUES (0)"));
  expect(checkpoints.failure).toBeNull();
  expect(statSync(path).size).toBe(size);
  closeUnfolded(database, path);
});
