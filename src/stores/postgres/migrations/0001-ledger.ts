// The ledger's first tables. The pages of `tidegate_ledger_record` keep free space, so that the
// commit of a claim rewrites its row on the same page and touches no index.

export const postgresLedger0001 = `
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
  PRIMARY KEY (scope, key)
) WITH (fillfactor = 50);
CREATE TABLE tidegate_ledger_object (
  scope integer NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  sequencer text NOT NULL,
  applied_key text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (scope, bucket, key)
) WITH (fillfactor = 70);
`;
