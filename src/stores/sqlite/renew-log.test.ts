import { spawnSync } from "node:child_process";
import { existsSync, statSync, symlinkSync, writeFileSync } from "node:fs";
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

test("a connection that was opened through a link leaves its log, too (N7)", () => {
  const path = createLeft();
  const link = `${path}.link`;
  symlinkSync(path, link);
  closeUnfolded(new DatabaseSync(link), link);
  expect(hasLog(path)).toBe(true);
  const database = new DatabaseSync(link);
  database.prepare("SELECT count(*) FROM row").get();
  closeUnfolded(database, link);
  expect(hasLog(path)).toBe(true);
});

/** Closes unfolded without a descriptor for a guard; prints whether there was a mark by then. */
const WITHOUT_DESCRIPTORS = `
  import { lstatSync, openSync } from "node:fs";
  import { DatabaseSync } from "node:sqlite";
  import { closeUnfolded } from "${new URL("renew-log.ts", import.meta.url).href}";
  const [path, isRead] = process.argv.slice(1);
  const open = () => {
    const database = new DatabaseSync(path);
    database.prepare("SELECT count(*) FROM row").get();
    return database;
  };
  const database = open();
  const reader = isRead === "true" ? open() : null;
  try {
    while (true) openSync("/dev/null");
  } catch {}
  const close = database.close.bind(database);
  database.close = () => {
    console.log(lstatSync(path + "-folding", { throwIfNoEntry: false }) !== undefined);
    close();
  };
  try {
    closeUnfolded(database, path);
  } catch (error) {
    console.log(error.message);
  }
  process.exit(0);
`;

function closeWithoutDescriptors(path: string, isRead: boolean): string {
  const program = [process.execPath, "--input-type=module", "-e", WITHOUT_DESCRIPTORS];
  const words = ["-c", 'ulimit -n 64; exec "$@"', "sh", ...program, path, String(isRead)];
  return spawnSync("sh", words, { encoding: "utf8" }).stdout;
}

test("without a descriptor for a guard, a file is marked while the last connection closes (N7)", () => {
  const path = createLeft();
  expect(closeWithoutDescriptors(path, false)).toBe("true\nunable to open database file\n");
  expect(hasLog(path)).toBe(false); // Its fold was synced, so nothing is in doubt.
  expect(new FoldMark(path).exists).toBe(false);
  expect(rowsIn(path)).toBe(ROWS);
});

test("a file that was closed without a guard is copied if its log is left (N7)", () => {
  const path = createLeft();
  expect(closeWithoutDescriptors(path, true)).toBe("true\nunable to open database file\n");
  expect(hasLog(path)).toBe(true);
  expect(new FoldMark(path).exists).toBe(true);
  const before = inodeOf(path);
  expect(renewLog(path, () => undefined)).toBe("renewed");
  expect(inodeOf(path)).not.toBe(before);
  expect(new FoldMark(path).exists).toBe(false);
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
