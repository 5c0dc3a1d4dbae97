// The outbox's table. The indexes contain only unfinished rows, so they stay small however
// many events were sent.

export const POSTGRES_OUTBOX_TABLES = `
CREATE TABLE tidegate_outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  state text NOT NULL,
  epoch integer NOT NULL,
  group_id text COLLATE "C",
  dedup_id text NOT NULL,
  payload_digest text NOT NULL,
  body text NOT NULL,
  attributes text NOT NULL,
  registered_at bigint NOT NULL,
  owner text NOT NULL,
  lease_until bigint NOT NULL,
  sent_at bigint,
  message_id text,
  reason text,
  settled boolean NOT NULL,
  expires_at bigint,
  UNIQUE (target, key)
) WITH (fillfactor = 70);
CREATE INDEX tidegate_outbox_pending ON tidegate_outbox (target, seq) WHERE state = 'pending';
CREATE INDEX tidegate_outbox_unsettled ON tidegate_outbox (target, seq)
  WHERE state = 'sent' AND NOT settled;
CREATE INDEX tidegate_outbox_expiry ON tidegate_outbox (expires_at) WHERE expires_at IS NOT NULL;
`;
