// Notes. Bodies may be long, so that rows lie by number and an index finds them by name; what a
// purge looks at stands before the body, which it need not read.

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
