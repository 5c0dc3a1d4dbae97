// The newest certain instant, by part: the ledger and the outbox may share a file.

export const SQLITE_CLOCK_TABLE = `
CREATE TABLE IF NOT EXISTS tidegate_clock (
  part TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  waited_ms INTEGER NOT NULL
) STRICT;
`;
