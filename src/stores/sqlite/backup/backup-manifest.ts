// Backup manifest: the list of a backup's files with sizes and digests.
//   M1. The manifest is written last, under a temporary name, and renamed once everything that it
//       lists is durable. A folder without it is not a backup, whatever else it contains.
//   M2. A path in it is a file name, or the path of a blob. No manifest can name a file elsewhere.
//   M3. It contains the digest of its own list, so that a damaged manifest is rejected, too.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../../core/encoding/hash.ts";
import { TidegateError } from "../../../core/errors.ts";
import { putInPlace, syncPath } from "../replace-file.ts";

export const MANIFEST_FILE = "backup.json";
const FORMAT = "tidegate-backup";
const VERSION = 1;

/** One file of a backup, by its path relative to the folder. */
export interface BackupFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface BackupManifest {
  /** RFC 3339: the instant of the cut. */
  readonly createdAt: string;
  readonly files: readonly BackupFile[];
}

const FILE_PATH = /^(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}|blobs\/[0-9a-f]{2}\/[0-9a-f]{32})$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** Writes the manifest of a folder whose files are durable (M1). */
export function writeBackupManifest(folder: string, { createdAt, files }: BackupManifest): void {
  const path = join(folder, MANIFEST_FILE);
  const draft = `${path}.new`;
  const listed = { format: FORMAT, version: VERSION, createdAt, files };
  const digest = sha256Hex(JSON.stringify(listed)); // M3
  writeFileSync(draft, `${JSON.stringify({ ...listed, digest }, null, 1)}\n`);
  syncPath(draft);
  putInPlace(draft, path);
}

/** Reads the manifest of a backup; throws TG_BACKUP_INVALID. */
export function readBackupManifest(folder: string): BackupManifest {
  const path = join(folder, MANIFEST_FILE);
  if (!existsSync(path)) {
    throw invalid(`${folder} is not a finished backup: it has no ${MANIFEST_FILE}`); // M1
  }
  const { digest, ...listed } = parsed(path);
  const { format, version, createdAt, files } = listed;
  if (format !== FORMAT) throw invalid(`${path} is not the manifest of a backup`);
  if (version !== VERSION) {
    throw invalid(`${path} has version ${version}, and this release reads version ${VERSION}`);
  }
  if (digest !== sha256Hex(JSON.stringify(listed))) throw invalid(`${path} is damaged`); // M3
  const entries = Array.isArray(files) ? (files as BackupFile[]) : [];
  for (const file of entries) {
    if (!FILE_PATH.test(file.path) || !DIGEST.test(file.sha256)) {
      throw invalid(`${path} names an unexpected file ${JSON.stringify(file.path)}`); // M2
    }
  }
  return { createdAt: String(createdAt), files: entries };
}

function parsed(path: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw invalid(`${path} is damaged`, cause);
  }
}

export function invalid(message: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_BACKUP_INVALID", message, { cause });
}
