// Page thread entry: answers the reads of page-thread.ts, each when it is done. The thread has a
// lower priority than the pipeline beside it.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { systemPorts } from "../../platform/index.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { Once } from "../once.ts";
import { createLedgerPages, type LedgerPages } from "./ledger-pages.ts";
import type { PageAnswer, PageCall, PageThreadData } from "./page-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const data = workerData as PageThreadData;
const opened = new Once<LedgerPages>();

async function open(): Promise<LedgerPages> {
  const ledger = await openLedger(data.url, systemPorts, { readOnly: true });
  return createLedgerPages({ ...systemPorts, ledger, ...data });
}

async function answerTo({ id, method, given }: PageCall): Promise<PageAnswer> {
  try {
    const pages = await opened.get(open);
    const read = pages[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return { id, value: await read(...given) };
  } catch (error) {
    const code = error instanceof TidegateError ? error.code : null;
    return { id, failure: { message: reasonOf(error), code } };
  }
}

lowerThreadPriority();
port.on("message", (call: PageCall) => {
  void answerTo(call).then((answer) => port.postMessage(answer));
});
