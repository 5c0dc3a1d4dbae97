// Batches and their items. The index contains only items that are not done, so that a check of a
// batch reads nothing else.

export const SQLITE_BATCH_TABLES = `
CREATE TABLE tidegate_batch (
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  item_count INTEGER NOT NULL,
  digest TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  sealed_at INTEGER,
  completed_at INTEGER,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (target, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tidegate_batch_expiry ON tidegate_batch (expires_at);
CREATE TABLE tidegate_batch_item (
  batch TEXT NOT NULL,
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  done INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (batch, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tidegate_batch_item_open ON tidegate_batch_item (batch, name) WHERE done = 0;
CREATE INDEX tidegate_batch_item_expiry ON tidegate_batch_item (expires_at);
`;
