// Database: the address of a sink's tables, and the operations the sink needs there.

import type { TablesSpec } from "../../core/table-spec.ts";

export type DatabaseAddress =
  | { readonly dialect: "sqlite"; readonly path: string }
  | { readonly dialect: "postgres"; readonly url: string };

/** A statement with all its parameters. */
export interface BoundWrite {
  readonly statement: string;
  readonly params: readonly (string | number | null)[];
}

export interface SinkDatabase {
  /** Creates missing tables in one transaction; throws if existing ones differ. */
  prepare(tables: TablesSpec): Promise<void>;
  /** Runs the statements as one transaction, unless `signal` aborts before the commit. */
  transact(writes: readonly BoundWrite[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Parses `tables(..., { database })`: a postgres:// URL, or the path of a file. */
export function databaseAddress(database: string): DatabaseAddress {
  return /^postgres(ql)?:\/\//.test(database)
    ? { dialect: "postgres", url: database }
    : { dialect: "sqlite", path: database };
}
