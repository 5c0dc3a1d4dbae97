// Backup folder: copies a data folder into a new folder, while a cloud and pipelines run on it.
//   B1. The databases are of one instant (consistent-cut.ts).
//   B2. A backup has every blob that its broker refers to. A blob never changes, but the cloud may
//       delete one at any time. So all blobs are copied before the cut, and after it those that
//       came in between. If one of them is gone already, another cut is taken, which no longer
//       needs it.
//   B3. Everything is synced before the manifest is written, and the manifest makes it a backup
//       (M1 of backup-manifest.ts). A killed backup leaves a folder that no restore accepts.
//   B4. Each database of the backup is checked before the manifest is written.
//   B5. The target has to be new or empty: a backup never mixes with another.

import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { reasonOf, refuseConfig, TidegateError } from "../../../core/errors.ts";
import { makeFolder } from "../broker/make-folder.ts";
import { syncPath } from "../replace-file.ts";
import { type BackupFile, writeBackupManifest } from "./backup-manifest.ts";
import { type ConsistentCut, databasesIn, takeCut } from "./consistent-cut.ts";
import { copyFileDurably, digestFile, type FileDigest } from "./copy-file.ts";

/** What a backup has. */
export interface BackupReport {
  readonly folder: string;
  readonly databases: number;
  readonly blobs: number;
  readonly bytes: number;
}

/** Called with one sentence per step of a long backup. */
export type BackupProgress = (step: string) => void;

const BLOBS = "blobs";
/** Cuts until every blob is there; each has fewer new blobs than the one before. */
const CUTS_MAX = 20;
const PAGES_PER_STEP = 1_000;

export async function backupDataFolder(
  data: string,
  target: string,
  options: { readonly createdAt: string; readonly onProgress?: BackupProgress },
): Promise<BackupReport> {
  const { createdAt, onProgress = () => undefined } = options;
  const names = existsSync(data) ? databasesIn(data) : [];
  if (names.length === 0) refuseConfig(`${data} contains no data of Tidegate`);
  makeTarget(data, target);
  try {
    const blobs = new Map<string, FileDigest>();
    copyBlobs({ data, target, blobs }, blobsOnDisk(data));
    onProgress(`copied ${blobs.size} objects`);
    const cut = cutWithBlobs({ data, target, blobs }, names);
    try {
      const files: BackupFile[] = [];
      for (const { name, reader } of cut.databases) {
        await backup(reader, join(target, name), { rate: PAGES_PER_STEP }); // B1
        files.push(checkedDatabase(target, name));
        onProgress(`copied ${name}`);
      }
      files.push(...keptBlobs({ data, target, blobs }, cut.blobs));
      syncFolders(target);
      writeBackupManifest(target, { createdAt, files }); // B3
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      return { folder: target, databases: names.length, blobs: cut.blobs.length, bytes };
    } finally {
      cut.release();
    }
  } catch (error) {
    if (error instanceof TidegateError) throw error;
    const message = `${data} cannot be backed up: ${reasonOf(error)}`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }
}

interface Copying {
  readonly data: string;
  readonly target: string;
  /** The blobs in the target. */
  readonly blobs: Map<string, FileDigest>;
}

/** B5 */
function makeTarget(data: string, target: string): void {
  if (`${resolve(target)}${sep}`.startsWith(`${resolve(data)}${sep}`)) {
    refuseConfig(`${target} is inside the data folder ${data}; choose a folder outside`);
  }
  if (existsSync(target) && readdirSync(target).length > 0) {
    refuseConfig(`${target} is not empty; choose a new folder, or delete an unfinished backup`);
  }
  makeFolder(target);
}

/** A cut whose blobs are all in the target (B2). */
function cutWithBlobs(copying: Copying, names: readonly string[]): ConsistentCut {
  for (let count = 1; count <= CUTS_MAX; count += 1) {
    const cut = takeCut(copying.data, names);
    copyBlobs(copying, cut.blobs);
    if (cut.blobs.every((id) => copying.blobs.has(id))) return cut;
    cut.release();
  }
  const message = "objects are deleted faster than they can be copied; try again later";
  throw new TidegateError("TG_STORE_UNAVAILABLE", message);
}

/** Copies blobs that are not there yet; one that the cloud has deleted is left out. */
function copyBlobs({ data, target, blobs }: Copying, ids: readonly string[]): void {
  for (const id of ids) {
    if (blobs.has(id)) continue;
    const path = pathOf(id);
    mkdirSync(join(target, BLOBS, id.slice(0, 2)), { recursive: true });
    try {
      blobs.set(id, copyFileDurably(join(data, path), join(target, path)));
    } catch (error) {
      rmSync(join(target, path), { force: true });
      if ((error as { code?: string }).code !== "ENOENT") throw error;
    }
  }
}

function blobsOnDisk(data: string): string[] {
  const root = join(data, BLOBS);
  if (!existsSync(root)) return [];
  const folders = readdirSync(root).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return folders.flatMap((name) => readdirSync(join(root, name)));
}

/** The blobs of the cut; others are removed from the target. */
function keptBlobs({ target, blobs }: Copying, ids: readonly string[]): BackupFile[] {
  const needed = new Set(ids);
  const files: BackupFile[] = [];
  for (const [id, copied] of blobs) {
    if (needed.has(id)) files.push({ path: pathOf(id), ...copied });
    else rmSync(join(target, pathOf(id)), { force: true });
  }
  return files;
}

function pathOf(id: string): string {
  return `${BLOBS}/${id.slice(0, 2)}/${id}`;
}

/** B4 */
function checkedDatabase(target: string, name: string): BackupFile {
  const path = join(target, name);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const result = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
    if (result !== "ok") {
      throw new TidegateError("TG_STORE_CORRUPT", `${name} is damaged: ${String(result)}`);
    }
  } finally {
    database.close();
  }
  for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  syncPath(path);
  return { path: name, ...digestFile(path) };
}

/** B3 */
function syncFolders(target: string): void {
  const root = join(target, BLOBS);
  const folders = existsSync(root) ? readdirSync(root).map((name) => join(root, name)) : [];
  for (const folder of folders) syncPath(folder);
  if (existsSync(root)) syncPath(root);
  syncPath(target);
  syncPath(join(target, ".."));
}
