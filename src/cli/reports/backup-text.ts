// Backup text: the size of a backup, as a line.

import { counted } from "../../core/encoding/counted.ts";
import type { BackupReport } from "../../stores/sqlite/backup/backup-folder.ts";
import { megabytes } from "../../stores/sqlite/renew-log.ts";

export function megabytesText({ databases, blobs, bytes }: BackupReport): string {
  const files = `${counted(databases, "database")}, ${counted(blobs, "object file")}`;
  return `${files}, ${megabytes(bytes)}`;
}
