// Database: where a sink's tables are, and what the sink asks of it.

import type { TablesSpec } from "../../core/table-spec.ts";

export type DatabaseAddress =
  | { readonly dialect: "sqlite"; readonly path: string }
  | { readonly dialect: "postgres"; readonly url: string };

/** A statement with nothing left open. */
export interface BoundWrite {
  readonly statement: string;
  readonly params: readonly (string | number | null)[];
}

export interface SinkDatabase {
  /** Makes what is missing, in one transaction; refuses what differs. */
  prepare(tables: TablesSpec): Promise<void>;
  /** Runs the statements as one transaction, unless `signal` is aborted before it is sealed. */
  transact(writes: readonly BoundWrite[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The address that `tables(..., { database })` names: a postgres:// URL, or the path of a file. */
export function databaseAddress(database: string): DatabaseAddress {
  return /^postgres(ql)?:\/\//.test(database)
    ? { dialect: "postgres", url: database }
    : { dialect: "sqlite", path: database };
}
