// Folders: data folders copied while they are in use, made again from a copy, and compacted.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { systemClock } from "../platform/system-clock.ts";
import { type BackupReport, backupDataFolder } from "../stores/sqlite/backup/backup-folder.ts";
import { type RestoreReport, restoreDataFolder } from "../stores/sqlite/backup/restore-folder.ts";

export { compactStores } from "../run/upkeep/compact-stores.ts";
export type { BackupReport } from "../stores/sqlite/backup/backup-folder.ts";
export type { RestoreReport } from "../stores/sqlite/backup/restore-folder.ts";
export type { CompactReport } from "../stores/sqlite/compact-file.ts";
export { megabytes } from "../stores/sqlite/renew-log.ts";

/** Copies a data folder into a new folder, while a cloud and pipelines run on it. */
export function backupFolder(
  data: string,
  target: string,
  onStep: (step: string) => void = () => {},
): Promise<BackupReport> {
  const createdAt = formatInstant(systemClock.now());
  return backupDataFolder(data, target, { createdAt, onProgress: onStep });
}

/** Makes a data folder from a backup, after verifying every file of it. */
export function restoreFolder(
  backup: string,
  data: string,
  onStep: (step: string) => void = () => {},
): RestoreReport {
  return restoreDataFolder(backup, data, onStep);
}
