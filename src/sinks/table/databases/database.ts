// Database: the address of a sink's tables, and the operations the sink needs there.

import type { SinkWrite } from "../../../core/sink-write.ts";
import type { TablesSpec } from "../../../core/table-spec.ts";
import type { TableShape } from "../shape.ts";

export type DatabaseAddress =
  | { readonly dialect: "sqlite"; readonly path: string }
  | { readonly dialect: "postgres"; readonly url: string };

export interface SinkDatabase {
  /** Creates missing tables in one transaction; throws if existing ones differ. */
  prepare(tables: TablesSpec): Promise<ReadonlyMap<string, TableShape>>;
  /** Runs the writes as one transaction, unless `signal` aborts before the commit. */
  transact(writes: readonly SinkWrite[], signal: AbortSignal, fence?: number): Promise<void>;
  /** The rows that one statement returns. */
  read(write: SinkWrite): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

/** Parses `tables(..., { database })`: a postgres:// URL, or the path of a file. */
export function databaseAddress(database: string): DatabaseAddress {
  return /^postgres(ql)?:\/\//.test(database)
    ? { dialect: "postgres", url: database }
    : { dialect: "sqlite", path: database };
}
