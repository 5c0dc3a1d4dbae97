// Row checker: compares the rows of a table with what the commits of its sink wrote.

/** A row, or the rows of an object, that are not as they were committed. */
export interface RowFinding {
  readonly table: string;
  /**
   * "missing": committed, and not in the table. "added": in the table, and never committed.
   * "changed": an object's rows are not those that it wrote. "misowned": visible, although another
   * writer of the row has the higher rank, or is not registered.
   */
  readonly kind: "missing" | "added" | "changed" | "misowned";
  /** The object whose rows they are; null if no object wrote the row, or all messages share it. */
  readonly object: string | null;
  /** The key of the row, as JSON; null if the finding is about all rows of the object. */
  readonly key: string | null;
}

/** What the check of one table found. */
export interface TableCheck {
  readonly table: string;
  /** Why the table was not compared; null if it was. */
  readonly notCompared: string | null;
  /** Visible rows. */
  readonly rows: number;
  /** Visible rows that messages wrote, which have no digests. */
  readonly ofMessages: number;
  /** Objects whose rows were compared with the digest of their commit. */
  readonly digested: number;
  /**
   * Objects without a digest of their rows as they should be: written before there were digests,
   * in parts, in columns that are gone, or last by a release without digests.
   */
  readonly undigested: number;
  readonly findings: readonly RowFinding[];
}

export interface RowChecker {
  check(signal: AbortSignal): Promise<TableCheck>;
}
