// Folder text: the sizes of backups and compacted files, as lines.

import { counted } from "../../core/encoding/counted.ts";
import { type BackupReport, type CompactReport, megabytes } from "../../operate/folders.ts";

export function megabytesText({ databases, blobs, bytes }: BackupReport): string {
  const files = `${counted(databases, "database")}, ${counted(blobs, "object file")}`;
  return `${files}, ${megabytes(bytes)}`;
}

export function compactLine({ path, beforeBytes, afterBytes }: CompactReport): string {
  return `${path}: ${megabytes(beforeBytes)} before, ${megabytes(afterBytes)} now`;
}
