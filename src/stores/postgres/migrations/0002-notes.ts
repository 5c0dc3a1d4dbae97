// Notes, by name in byte order.

export const postgresLedger0002 = `
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
`;
