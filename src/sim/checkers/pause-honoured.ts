// Pause honoured: a paused pipeline does no new work. Consumers see a pause within the interval of
// their looks; the checker allows GRACE_MS for that, for the calls of a record that has just begun,
// and for their latency.
//   A consumer may begin later if its process was stopped, if a call was slow, or if a look failed:
//   a frozen process sees nothing, and a slow claim is answered late. The checker excuses a start
//   for EXCUSED_MS after such a fault of its consumer. Other faults delay no start, and a restart
//   does not excuse a consumer: it looks before its first receive.
//   Backfills are held to the same.

import { type Checker, findings } from "./checker.ts";

const NAME = "pause-honoured";
const GRACE_MS = 10_000;
/** Longer than any freeze or slow response. */
const EXCUSED_MS = 620_000;
const CONSUMER = /(?:consumer|backfill)-\d+/;
const DELAYS = /is delayed$|^frozen\/|findPause#|is frozen for|stalls for|is off by|is now off by/;

export const pauseHonoured: Checker = {
  name: NAME,
  promise: "No handler starts while the pipeline is paused, but for a short time at the beginning.",
  check(events) {
    const { violations, add } = findings(NAME);
    let pausedAt: number | null = null;
    /** When each consumer last met a fault that delays it. */
    const faultAt = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "fault") {
        const about = `${event.id} ${event.what}`;
        const consumer = CONSUMER.exec(about)?.[0];
        if (consumer !== undefined && DELAYS.test(about)) faultAt.set(consumer, event.at);
      } else if (event.kind === "paused") pausedAt ??= event.at;
      else if (event.kind === "resumed") pausedAt = null;
      else if (event.kind === "handling" && pausedAt !== null) {
        const lateMs = event.at - pausedAt;
        const sinceFaultMs = event.at - (faultAt.get(event.actor) ?? Number.NEGATIVE_INFINITY);
        if (lateMs <= GRACE_MS || sinceFaultMs < EXCUSED_MS) continue;
        add(
          event.at,
          [event.name],
          `${event.actor} begins ${event.name} ${lateMs} ms after a pause`,
        );
      }
    }
    return violations;
  },
};
