// Reader thread entry: answers the calls of reader-thread.ts, in their order.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { systemPorts } from "../../platform/index.ts";
import { createTableEffects } from "../../sinks/table/list-effects.ts";
import { createSqliteLedger } from "../../stores/sqlite/ledger/ledger.ts";
import { type FlatPage, packEffects, packRecords } from "./reader-pages.ts";
import type { ReaderThreadAnswer, ReaderThreadCall, ReaderThreadData } from "./reader-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { path, tables } = workerData as ReaderThreadData;
const ledger = createSqliteLedger(systemPorts, { path, readOnly: true });
const store = present(ledger.sinkStore, "the tables of a SQLite ledger");
const effects = await createTableEffects(store, "sqlite", tables);

async function read(call: ReaderThreadCall): Promise<{ values: FlatPage; next: string | null }> {
  if (call.kind === "records") {
    const { scope, query, page } = call;
    const { records, next } = ledger.listFlat(scope, query, page);
    return { values: packRecords(scope, query.bucket, records), next };
  }
  const lister = present(effects[call.table], "the lister of a table");
  const page = await lister.list(call.request);
  return { values: packEffects(page.effects), next: page.next };
}

async function answerTo(call: ReaderThreadCall): Promise<ReaderThreadAnswer> {
  try {
    return { id: call.id, ...(await read(call)) };
  } catch (error) {
    const code = error instanceof TidegateError ? error.code : null;
    return { id: call.id, failure: { message: reasonOf(error), code } };
  }
}

port.on("message", (call: ReaderThreadCall) => {
  void answerTo(call).then((answer) => port.postMessage(answer));
});
port.postMessage("ready" satisfies ReaderThreadAnswer);
