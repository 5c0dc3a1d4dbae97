// Creates a ledger and kills its own process before the step of the given number.

import { DatabaseSync } from "node:sqlite";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";

const [path = "", step = ""] = process.argv.slice(2);
let steps = 0;
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function killing(this: DatabaseSync, sql: string): void {
  // Each statement of a script is a step, because a kill may come between any two.
  for (const statement of sql.split(/;\s*\n?/).filter((text) => text.trim() !== "")) {
    steps += 1;
    if (steps === Number(step)) process.kill(process.pid, "SIGKILL");
    exec.call(this, statement);
  }
};
const ledger = await openLedger(`sqlite:${path}`, systemPorts);
await ledger.close();
