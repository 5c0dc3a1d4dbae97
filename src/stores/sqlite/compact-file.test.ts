import fs, { closeSync, existsSync, fstatSync, openSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { compactSqliteFile } from "./compact-file.ts";
import { renewLog } from "./renew-log.ts";

const folder = useTemporaryFolder("compact-file");
const { fsyncSync } = fs;

/** Lets each sync of a folder fail while `fails` is true for the state of the disk. */
function failFolderSyncs(fails: () => boolean): void {
  fs.fsyncSync = (descriptor) => {
    if (fstatSync(descriptor).isDirectory() && fails()) {
      throw Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });
    }
    fsyncSync(descriptor);
  };
  syncBuiltinESMExports();
}

/** Files that have lost their names; the disk gives their numbers to no new file until the end. */
const held: number[] = [];

/** The number of a file that no later file of the test gets. */
function heldInode(path: string): number {
  held.push(openSync(path, "r"));
  return statSync(path).ino;
}

afterEach(() => {
  for (const descriptor of held.splice(0)) closeSync(descriptor);
  fs.fsyncSync = fsyncSync;
  syncBuiltinESMExports();
});

test("a new file whose name could not be synced is copied and synced by the next open (C4)", () => {
  const path = join(folder, "name.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  database.close();
  const old = heldInode(path);
  failFolderSyncs(() => statSync(path).ino !== old);
  const failure = { code: "TG_STORE_UNAVAILABLE", message: expect.stringContaining("EIO") };
  expect(() => compactSqliteFile(path, () => {})).toThrow(expect.objectContaining(failure));
  const unsynced = heldInode(path);
  expect(unsynced).not.toBe(old);
  expect(() => renewLog(path)).toThrow("EIO");
  failFolderSyncs(() => false);
  expect(renewLog(path)).toBe("renewed");
  expect(statSync(path).ino).not.toBe(unsynced);
  expect(existsSync(`${path}-folding`)).toBe(false);
  using copy = new DatabaseSync(path, { readOnly: true });
  expect(copy.prepare("SELECT x FROM t").get()).toEqual({ x: 1 });
});

test("a compaction whose copy cannot get the name leaves no mark (C1)", () => {
  const path = join(folder, "draft.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  database.close();
  const old = statSync(path).ino;
  failFolderSyncs(() => true);
  expect(() => compactSqliteFile(path, () => {})).toThrow("EIO");
  expect(statSync(path).ino).toBe(old);
  expect(renewLog(path)).toBe("no-log");
});
