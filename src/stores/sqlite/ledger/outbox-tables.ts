// The outbox's table. The indexes contain only unfinished rows, so they stay small however
// many events were sent.

export const SQLITE_OUTBOX_TABLES = `
CREATE TABLE tidegate_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  target TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  group_id TEXT,
  dedup_id TEXT NOT NULL,
  payload_digest TEXT NOT NULL,
  body TEXT NOT NULL,
  attributes TEXT NOT NULL,
  registered_at INTEGER NOT NULL,
  owner TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  sent_at INTEGER,
  message_id TEXT,
  reason TEXT,
  settled INTEGER NOT NULL,
  expires_at INTEGER,
  UNIQUE (target, key)
);
CREATE INDEX tidegate_outbox_pending ON tidegate_outbox (target, seq) WHERE state = 'pending';
CREATE INDEX tidegate_outbox_unsettled ON tidegate_outbox (target, seq)
  WHERE state = 'sent' AND settled = 0;
CREATE INDEX tidegate_outbox_expiry ON tidegate_outbox (expires_at) WHERE expires_at IS NOT NULL;
`;
