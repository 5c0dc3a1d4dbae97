// The ledger's tables. Records are stored in the order of their first arrival, so that the claims
// and commits of a batch touch the same few pages. `ledger_key` finds them by hash and is filled
// late and in order (see key-index.ts).
//   Y1. Every list of records has an index that ends with the rank of the record key (H2 of
//       key-hash.ts), so that a page starts where the previous one ended, however many rows share a
//       time. Event times and commit times mostly grow, so their indexes grow at the end.
//   Y2. A commit must not touch the indexes by event time and by object: no statement sets their
//       columns unless they change.
//   Y3. Records that are not committed are few, whatever the size of the ledger, and a running
//       pipeline looks for the oldest of them all the time. Their index has numbers only: a claim
//       adds an entry at its end and the commit removes it. A list of them is sorted when read.
//   Y4. Notes may be long, so rows are stored by number and an index finds them by name. The
//       columns that a purge reads come before the body.

export const SQLITE_LEDGER_TABLES = `
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
  rank INTEGER NOT NULL,
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
  log TEXT NOT NULL,
  event_time INTEGER NOT NULL,
  bucket TEXT,
  object_key TEXT,
  input TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_record_event ON ledger_record (scope, event_time, rank);
CREATE INDEX ledger_record_commit ON ledger_record (scope, changed_at, rank)
  WHERE state = 'committed';
CREATE INDEX ledger_record_open ON ledger_record (scope) WHERE state <> 'committed';
CREATE INDEX ledger_record_object ON ledger_record (scope, bucket, object_key, rank)
  WHERE bucket IS NOT NULL;
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
  applied TEXT,
  PRIMARY KEY (scope, bucket, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_note (
  id INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (scope, kind, name)
) STRICT;
CREATE TABLE ledger_run (
  scope INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  seen_at INTEGER NOT NULL,
  code_digest TEXT NOT NULL,
  config_digest TEXT NOT NULL,
  environment TEXT NOT NULL,
  parameters TEXT NOT NULL,
  counts TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_run_start ON ledger_run (scope, started_at, id);
`;
