// Memory report: lets a server process report its memory when its parent requests it over IPC.
// Needs --expose-gc, so that garbage does not count.

import { setTimeout as sleep } from "node:timers/promises";

const COLLECTIONS = 4;
const PAUSE_MS = 100;

/** Answers `{ kind: "memory" }` of the parent with a MemoryReport, until the process ends. */
export function answerMemory(): void {
  process.on("message", async () => {
    const { maxRSS: peakKib } = process.resourceUsage();
    for (let index = 0; index < COLLECTIONS; index += 1) {
      // The last-resort collection also frees the heap's reserve.
      globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
      await sleep(PAUSE_MS); // Freed pages go back to the system between collections.
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    const peakRssBytes = peakKib * 1_024;
    process.send?.({ rssBytes: rss, heldBytes: heapUsed + external, peakRssBytes });
  });
}
