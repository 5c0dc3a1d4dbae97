// Sim thread: runs one seed per message and answers with the verdict.

import { parentPort } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { afterPromiseJobs } from "../../platform/system-turn.ts";
import { judgeSeed, type SeedOrder } from "../../sim/judge-seed.ts";

// Simulated errors are created by the thousand, and their stacks are never read.
Error.stackTraceLimit = 0;

const port = present(parentPort, "the port of a worker thread");

port.on("message", (order: SeedOrder) => {
  judgeSeed(order, afterPromiseJobs).then(
    (verdict) => port.postMessage(verdict),
    (error: unknown) => {
      throw error;
    },
  );
});
