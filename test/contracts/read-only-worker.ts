// Reads a ledger in a folder that this process may not write to, and prints what it finds. The
// superuser may write everywhere, so the worker gives up its rights after it has loaded its code.

import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";

const NOBODY = 65_534;
const [path = "", name = "", key = ""] = process.argv.slice(2);
if (process.getuid?.() === 0) process.setuid?.(NOBODY);
const clock = createManualClock(FAR_AHEAD);
try {
  const ledger = createSqliteLedger({ clock, turn }, { path, readOnly: true });
  const view = await ledger.show({ pipeline: name, generation: 0 }, asRecordKey(key));
  console.log(view?.record.kind ?? "absent");
  await ledger.close();
} catch (error) {
  console.log((error as { code?: string }).code);
}
