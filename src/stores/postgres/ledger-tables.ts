// The ledger's tables. The pages of `tidegate_ledger_record` keep free space, so that a renewed claim
// rewrites its row on the same page and touches no index.
//   Y1. Every list of records has an index that ends with the record key, so that a page starts
//       where the previous one ended, however many rows share a time.
//   Y2. Records that are not committed are few, whatever the size of the ledger, and a running
//       pipeline looks for the oldest of them all the time.

export const POSTGRES_LEDGER_TABLES = `
CREATE TABLE tidegate_ledger_scope (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  UNIQUE (pipeline, generation)
);
CREATE TABLE tidegate_ledger_record (
  scope integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  state text NOT NULL,
  fence bigint NOT NULL,
  attempts integer NOT NULL,
  seen_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  owner text,
  digest text,
  detail text,
  log text NOT NULL,
  event_time bigint NOT NULL,
  bucket text COLLATE "C",
  object_key text COLLATE "C",
  input text NOT NULL,
  PRIMARY KEY (scope, key)
) WITH (fillfactor = 50);
CREATE INDEX tidegate_ledger_record_event ON tidegate_ledger_record (scope, event_time, key);
CREATE INDEX tidegate_ledger_record_commit ON tidegate_ledger_record (scope, changed_at, key)
  WHERE state = 'committed';
CREATE INDEX tidegate_ledger_record_open ON tidegate_ledger_record (scope, event_time, key)
  WHERE state <> 'committed';
CREATE INDEX tidegate_ledger_record_object ON tidegate_ledger_record
  (scope, bucket, object_key, key) WHERE bucket IS NOT NULL;
CREATE TABLE tidegate_ledger_object (
  scope integer NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  sequencer text NOT NULL,
  applied_key text NOT NULL,
  expires_at bigint NOT NULL,
  applied text,
  PRIMARY KEY (scope, bucket, key)
) WITH (fillfactor = 70);
CREATE TABLE tidegate_ledger_note (
  scope integer NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  count bigint NOT NULL,
  body text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (scope, kind, name)
) WITH (fillfactor = 70);
CREATE TABLE tidegate_ledger_run (
  scope integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint,
  seen_at bigint NOT NULL,
  code_digest text NOT NULL,
  config_digest text NOT NULL,
  environment text NOT NULL,
  parameters text NOT NULL,
  counts text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (scope, id)
) WITH (fillfactor = 50);
CREATE INDEX tidegate_ledger_run_start ON tidegate_ledger_run (scope, started_at, id);
`;
