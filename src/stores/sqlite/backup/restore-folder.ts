// Restore folder: makes a data folder from a backup.
//   R1. The data folder has to be new or empty, so no running cloud can use it and nothing is lost.
//   R2. Every file is verified by size and digest while it is copied. A backup with a missing,
//       changed or damaged file is rejected as a whole.
//   R3. The copy is made beside the data folder, synced, and renamed at the end: a restore that is
//       killed leaves no data folder, and can be repeated.

import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { reasonOf, refuseConfig, TidegateError } from "../../../core/errors.ts";
import { makeFolder } from "../broker/make-folder.ts";
import { syncPath } from "../replace-file.ts";
import type { BackupProgress, BackupReport } from "./backup-folder.ts";
import { type BackupFile, invalid, readBackupManifest } from "./backup-manifest.ts";
import { copyFileDurably, type FileDigest } from "./copy-file.ts";

/** What was restored. */
export interface RestoreReport extends BackupReport {
  /** When the backup was made. */
  readonly createdAt: string;
}

const DRAFT_SUFFIX = ".restoring";
const PROGRESS_FILES = 10_000;

export function restoreDataFolder(
  source: string,
  data: string,
  onProgress: BackupProgress = () => undefined,
): RestoreReport {
  const { createdAt, files } = readBackupManifest(source);
  requireEmpty(data); // R1
  const draft = `${resolve(data)}${DRAFT_SUFFIX}`;
  rmSync(draft, { recursive: true, force: true });
  try {
    makeFolder(draft);
    const folders = new Set([draft]);
    for (const [at, file] of files.entries()) {
      restoreFile(source, draft, file, folders);
      if ((at + 1) % PROGRESS_FILES === 0)
        onProgress(`restored ${at + 1} of ${files.length} files`);
    }
    for (const folder of folders) syncPath(folder);
    if (existsSync(data)) rmdirSync(data);
    renameSync(draft, data); // R3
    syncPath(dirname(resolve(data)));
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (error instanceof TidegateError) throw error;
    const message = `${data} cannot be restored: ${reasonOf(error)}`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }
  const blobs = files.filter(({ path }) => path.includes("/")).length;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { folder: data, createdAt, databases: files.length - blobs, blobs, bytes };
}

function requireEmpty(data: string): void {
  if (!existsSync(data) || readdirSync(data).length === 0) return;
  const message =
    `${data} is not empty; restore into a new folder, or stop everything that uses this one ` +
    "and move it away";
  refuseConfig(message);
}

/** R2 */
function restoreFile(
  source: string,
  draft: string,
  { path, bytes, sha256 }: BackupFile,
  folders: Set<string>,
): void {
  const to = join(draft, path);
  mkdirSync(dirname(to), { recursive: true });
  for (let folder = dirname(to); folder !== draft; folder = dirname(folder)) folders.add(folder);
  let copied: FileDigest;
  try {
    copied = copyFileDurably(join(source, path), to);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
    throw invalid(`${join(source, path)} is missing from the backup`, error);
  }
  if (copied.bytes !== bytes || copied.sha256 !== sha256) {
    throw invalid(`${join(source, path)} is damaged: it is not the file that was backed up`);
  }
}
