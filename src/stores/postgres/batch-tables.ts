// Batches and their items. The index contains only items that are not done, so that a check of a
// batch reads nothing else.

export const POSTGRES_BATCH_TABLES = `
CREATE TABLE tidegate_batch (
  target text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  item_count integer NOT NULL,
  digest text NOT NULL,
  opened_at bigint NOT NULL,
  sealed_at bigint,
  completed_at bigint,
  expires_at bigint NOT NULL,
  PRIMARY KEY (target, name)
);
CREATE INDEX tidegate_batch_expiry ON tidegate_batch (expires_at);
CREATE TABLE tidegate_batch_item (
  batch text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text NOT NULL,
  done boolean NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (batch, name)
) WITH (fillfactor = 80);
CREATE INDEX tidegate_batch_item_open ON tidegate_batch_item (batch, name) WHERE NOT done;
CREATE INDEX tidegate_batch_item_expiry ON tidegate_batch_item (expires_at);
`;
