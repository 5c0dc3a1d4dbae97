// Overlap: a copy of the slow probe is handed out while its handler runs, as SQS may do on a good
// day, too. The claim has outlived its first lease by then: whoever gets the copy has to be told
// that another is at it, and the handler to run once.
//   V1. Only where the handler runs under a claim: on a receipt alone, copies may both run.
//   V2. Only on standard queues, as FIFO queues hand nothing out twice.

import { durationMs } from "../../core/units.ts";
import type { HistoryEvent } from "../history.ts";
import type { WorldServices } from "../services.ts";
import { hashText } from "./named-random.ts";

/** How far into its handler, in leases; a slow probe takes two and a half. */
const AFTER_LEASES = 1.5;
const LOOKS_PER_LEASE = 8;
/** It may have to wait for its turn for as long as everything before it takes. */
const LOOKS_MAX = 10_000;

/** Waits for the handler of `name` to be under way for long enough, then hands out a copy. */
export function overlap(stage: WorldServices, name: string, visibilityMs: number): void {
  const { scheduler, history, queue } = stage;
  if (queue.fifo) return; // V2
  const label = hashText("overlap");
  let read = history.events.length;
  let receipt: string | null = null;
  let startedAt: number | null = null;

  /** Reads on in the history; false once there is nothing to wait for. */
  function readOn(): boolean {
    for (; read < history.events.length; read += 1) {
      const event = history.events[read] as HistoryEvent;
      if (event.kind === "delivered" && event.names.includes(name)) ({ receipt } = event);
      if (!("name" in event) || event.name !== name) continue;
      if (event.kind === "committed") return false;
      if (event.kind !== "handling") continue;
      if (event.fence === null || startedAt !== null) return false; // V1
      startedAt = event.at;
    }
    return true;
  }

  function look(left: number): void {
    if (left === 0 || !readOn()) return;
    const isTime = startedAt !== null && scheduler.now - startedAt >= AFTER_LEASES * visibilityMs;
    if (isTime && receipt !== null) {
      void queue.changeVisibility([{ receipt, visibilityMs: durationMs(0) }]);
      return;
    }
    scheduler.after(Math.ceil(visibilityMs / LOOKS_PER_LEASE), label, () => look(left - 1));
  }

  look(LOOKS_MAX);
}
