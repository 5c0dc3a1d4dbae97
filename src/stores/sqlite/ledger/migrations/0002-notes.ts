// Notes. Bodies may be long, so rows are stored by number and an index finds them by name. The
// columns that a purge reads come before the body.

export const sqliteLedger0002 = `
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
`;
