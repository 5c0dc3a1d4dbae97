// Ledger thread entry: answers the reads of ledger-thread.ts, each when it is done. The thread has
// a lower priority than the pipeline beside it.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { systemPorts } from "../../platform/index.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { openLedger } from "../open/open-ledger.ts";
import { createLedgerReads, type LedgerReads } from "./ledger-reads.ts";
import type { LedgerThreadAnswer, LedgerThreadCall, LedgerThreadData } from "./ledger-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { url, owner } = workerData as LedgerThreadData;
let opening: Promise<LedgerReads> | null = null;

async function open(): Promise<LedgerReads> {
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  return createLedgerReads({ ...systemPorts, ledger, url, owner });
}

/** A ledger that could not be opened is tried again with the next call. */
function opened(): Promise<LedgerReads> {
  opening ??= open().catch((error: unknown) => {
    opening = null;
    throw error;
  });
  return opening;
}

async function answerTo({ id, method, given }: LedgerThreadCall): Promise<LedgerThreadAnswer> {
  try {
    const reads = await opened();
    const read = reads[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return { id, value: await read(...given) };
  } catch (error) {
    const code = error instanceof TidegateError ? error.code : null;
    return { id, failure: { message: reasonOf(error), code } };
  }
}

lowerThreadPriority();
port.on("message", (call: LedgerThreadCall) => {
  void answerTo(call).then((answer) => port.postMessage(answer));
});
