// Compact stores: gives the space of deleted data in a folder or a SQLite file back to the disk.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { TidegateError } from "../../core/errors.ts";
import { compactBrokerFolder } from "../../stores/sqlite/broker/compact-folder.ts";
import { type CompactReport, compactSqliteFile } from "../../stores/sqlite/compact-file.ts";
import { megabytes } from "../../stores/sqlite/renew-log.ts";
import { parseStoreUrl } from "../open/store-url.ts";

/** The data file of the embedded cloud, and the ledger that pipelines use by default. */
const BROKER_FILE_NAME = "broker.sqlite";
const LEDGER_FILE_NAME = "ledger.db";

/** Compacts what there is; throws if there is nothing. `note` gets a line before each file. */
export function compactStores(
  wanted: { readonly data: string | null; readonly url: string | null },
  note: (line: string) => void,
): CompactReport[] {
  const onProgress = (path: string, liveBytes: number) =>
    note(`compacting ${path}: copying ${megabytes(liveBytes)}`);
  const reports: CompactReport[] = [];
  const { data, url } = wanted;
  if (data !== null) {
    const hasBroker = existsSync(join(data, BROKER_FILE_NAME));
    const ledger = join(data, LEDGER_FILE_NAME);
    if (hasBroker || !existsSync(ledger)) reports.push(compactBrokerFolder(data, onProgress));
    if (existsSync(ledger)) reports.push(compactSqliteFile(ledger, onProgress));
  }
  if (url !== null) reports.push(compactSqliteFile(sqlitePath(url), onProgress));
  return reports;
}

function sqlitePath(url: string): string {
  const location = parseStoreUrl(url, "ledger");
  if (location.store !== "sqlite") {
    const message = `--url is a ${location.store} URL; only SQLite files can be compacted`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  if (existsSync(location.path)) return location.path;
  throw new TidegateError("TG_CONFIG_INVALID", `${location.path} does not exist`);
}
