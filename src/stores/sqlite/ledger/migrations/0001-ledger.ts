// The ledger's first tables. Records are stored in the order of their first arrival, so that the
// claims and commits of a batch touch the same few pages. `ledger_key` finds them by hash and is
// filled late and in order (see key-index.ts).

export const sqliteLedger0001 = `
CREATE TABLE ledger_scope (
  id INTEGER PRIMARY KEY,
  pipeline TEXT NOT NULL,
  generation INTEGER NOT NULL,
  UNIQUE (pipeline, generation)
) STRICT;
CREATE TABLE ledger_record (
  id INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  fence INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  owner TEXT,
  digest TEXT,
  detail TEXT,
  log TEXT NOT NULL
) STRICT;
CREATE TABLE ledger_key (
  hash INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (hash, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_indexed (up_to INTEGER NOT NULL) STRICT;
INSERT INTO ledger_indexed VALUES (0);
CREATE TABLE ledger_object (
  scope INTEGER NOT NULL,
  bucket TEXT NOT NULL,
  key TEXT NOT NULL,
  sequencer TEXT NOT NULL,
  applied_key TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (scope, bucket, key)
) STRICT, WITHOUT ROWID;
`;
