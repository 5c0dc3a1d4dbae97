// Reader thread entry: answers the calls of reader-thread.ts, in their order.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { systemPorts } from "../../platform/index.ts";
import { createSqliteLedger } from "../../stores/sqlite/ledger/ledger.ts";
import { packRecords } from "./reader-pages.ts";
import type { ReaderThreadAnswer, ReaderThreadCall, ReaderThreadData } from "./reader-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { path } = workerData as ReaderThreadData;
const ledger = createSqliteLedger(systemPorts, { path, readOnly: true });

function answerTo({ id, scope, query, page }: ReaderThreadCall): ReaderThreadAnswer {
  try {
    const { records, next } = ledger.listFlat(scope, query, page);
    return { id, values: packRecords(scope, query.bucket, records), next };
  } catch (error) {
    const code = error instanceof TidegateError ? error.code : null;
    return { id, failure: { message: reasonOf(error), code } };
  }
}

port.on("message", (call: ReaderThreadCall) => port.postMessage(answerTo(call)));
port.postMessage("ready" satisfies ReaderThreadAnswer);
