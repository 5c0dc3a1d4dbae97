// Upgrades a store and kills its own process before or after the nth step that reaches a disk or a
// server: words are the kind, the file or URL, n (0: never), and "unprivileged" to give up all rights.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import pg from "pg";
import { upgradePostgres } from "../../../src/stores/postgres/upgrade-tables.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { clockAfter } from "../../support/old-stores/old-stores.ts";
import { turn } from "../../support/stores/real-ports.ts";

type Method = (...args: unknown[]) => unknown;

const NOBODY = 65_534;
const [kind = "", where = "", nth = "0", user = ""] = process.argv.slice(2);
let steps = 0;
/** Opening a file has tests of its own: the count begins with the backup. */
let isCounting = kind === "postgres";

function step(): void {
  if (!isCounting) return;
  steps += 1;
  if (steps === Number(nth)) process.kill(process.pid, "SIGKILL");
}

function count(target: object, name: string): void {
  const methods = target as Record<string, Method>;
  const original = methods[name] as Method;
  methods[name] = function counted(this: unknown, ...args: unknown[]) {
    if (this instanceof StatementSync && this.sourceSQL.startsWith("VACUUM INTO")) {
      isCounting = true;
    }
    step();
    const result = original.apply(this, args);
    if (!(result instanceof Promise)) step();
    return result instanceof Promise ? result.finally(step) : result;
  };
}

for (const name of ["fsyncSync", "renameSync"]) count(fs, name);
count(DatabaseSync.prototype, "exec");
count(StatementSync.prototype, "run");
count(pg.Client.prototype, "query");
syncBuiltinESMExports();
if (user === "unprivileged" && process.getuid?.() === 0) process.setuid?.(NOBODY);

try {
  if (kind === "postgres") await upgradePostgres(where, { dryRun: false });
  else {
    const ports = { clock: clockAfter(), turn };
    const ledger = createSqliteLedger(ports, { path: where });
    const outbox = createSqliteOutbox(ports, { path: where });
    await ledger.close();
    await outbox.close();
  }
  console.log("upgraded");
} catch (error) {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  console.log(`${code}: ${message}`);
}
