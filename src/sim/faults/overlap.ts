// Overlap: redelivers the slow probe while its handler runs, as SQS may do without any fault. By
// then the claim is past its first lease. The consumer that gets the copy must be refused because
// the record is busy, and the handler must run once.
//   V1. Only where the handler runs under a claim: with `lease: "receipt"` both copies may run.
//   V2. Only on standard queues, because FIFO queues do not deliver duplicates.

import { durationMs } from "../../core/units.ts";
import type { HistoryEvent } from "../history.ts";
import type { WorldServices } from "../services.ts";
import { hashText } from "./named-random.ts";

/** How long the handler has run by then, in leases; a slow probe takes two and a half. */
const AFTER_LEASES = 1.5;
const CHECKS_PER_LEASE = 8;
/** The probe may have to wait for everything before it. */
const CHECKS_MAX = 10_000;

/** Waits until the handler of `name` has run for long enough, then redelivers its message. */
export function overlap(services: WorldServices, name: string, visibilityMs: number): void {
  const { scheduler, history, queue } = services;
  if (queue.fifo) return; // V2
  const label = hashText("overlap");
  let position = history.events.length;
  let receipt: string | null = null;
  let startedAt: number | null = null;

  /** Reads new events of the history; false once there is nothing to wait for. */
  function readEvents(): boolean {
    for (; position < history.events.length; position += 1) {
      const event = history.events[position] as HistoryEvent;
      if (event.kind === "delivered" && event.names.includes(name)) ({ receipt } = event);
      if (!("name" in event) || event.name !== name) continue;
      if (event.kind === "committed") return false;
      if (event.kind !== "handling") continue;
      if (event.fence === null || startedAt !== null) return false; // V1
      startedAt = event.at;
    }
    return true;
  }

  function check(remaining: number): void {
    if (remaining === 0 || !readEvents()) return;
    const isTime = startedAt !== null && scheduler.now - startedAt >= AFTER_LEASES * visibilityMs;
    if (isTime && receipt !== null) {
      void queue.changeVisibility([{ receipt, visibilityMs: durationMs(0) }]);
      return;
    }
    scheduler.after(Math.ceil(visibilityMs / CHECKS_PER_LEASE), label, () => check(remaining - 1));
  }

  check(CHECKS_MAX);
}
