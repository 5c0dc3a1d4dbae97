// Opening a SQLite ledger or outbox while another connection has the file to itself, as a process
// has that renews the log, or that closes the file as the last one.

import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { systemPorts } from "../../../src/platform/index.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox, findSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("open-lock");

/** Locks the file and leaves a log in it; an open blocks this thread, so it unlocks by itself. */
const HOLDER = `
  const { DatabaseSync } = require("node:sqlite");
  const { parentPort, workerData } = require("node:worker_threads");
  const db = new DatabaseSync(workerData);
  db.exec("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE held (a)");
  parentPort.postMessage("locked");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  db.close();
`;

async function whileLocked(path: string, open: () => { close(): unknown } | null): Promise<void> {
  const holder = new Worker(HOLDER, { eval: true, workerData: path });
  const ended = once(holder, "exit");
  await once(holder, "message");
  const store = open();
  expect(store).not.toBeNull();
  await store?.close();
  await ended;
}

test("a ledger that another connection has locked for a moment is opened after it", async () => {
  const path = join(folder, "ledger.db");
  await createSqliteLedger(systemPorts, { path }).close();
  await whileLocked(path, () => createSqliteLedger(systemPorts, { path }));
});

test("an outbox that another connection has locked for a moment is opened after it", async () => {
  const created = join(folder, "created.db");
  await createSqliteOutbox(systemPorts, { path: created }).close();
  await whileLocked(created, () => createSqliteOutbox(systemPorts, { path: created }));
  const looked = join(folder, "looked.db");
  await createSqliteOutbox(systemPorts, { path: looked }).close();
  await whileLocked(looked, () => findSqliteOutbox(systemPorts, { path: looked }));
});
