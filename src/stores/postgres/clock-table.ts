// The newest certain instant, by part: the ledger and the outbox may share a database.

export const POSTGRES_CLOCK_TABLE = `
CREATE TABLE IF NOT EXISTS tidegate_clock (
  part text PRIMARY KEY,
  at bigint NOT NULL,
  waited_ms bigint NOT NULL
);
`;
