import { join } from "node:path";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { describeLedgerClocks, describeOutboxClocks } from "./store-clock.ts";

const folder = useTemporaryFolder("store-clock");
let files = 0;
const freshPath = () => {
  files += 1;
  return join(folder, `${files}.db`);
};

describeLedgerClocks({
  name: "SQLite",
  async fresh() {
    const path = freshPath();
    return async ({ clock, ...options }) =>
      createSqliteLedger({ clock, turn }, { path, ...options });
  },
});

describeOutboxClocks({
  name: "SQLite",
  async fresh() {
    const path = freshPath();
    return async ({ clock, ...options }) => createSqliteOutbox({ clock }, { path, ...options });
  },
});
