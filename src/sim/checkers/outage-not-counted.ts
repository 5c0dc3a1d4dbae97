// Outage not counted: what we depend on may be down for longer than a record may be tried. An
// attempt that ends for its sake is given back, so that nobody's record becomes a dead letter
// because of a night without a database.
//   A bucket that is down fails the handler, which counts; that is what retries are for.

import { type Checker, findings } from "./checker.ts";

const NAME = "outage-not-counted";
/** How the errors of those begin that are down. */
const OUTAGE = /^TG_(LEDGER|SINK|QUEUE)_UNAVAILABLE: /;

export const outageNotCounted: Checker = {
  name: NAME,
  promise: "A ledger, sink or dead-letter queue that is down is never counted against a record.",
  check(events) {
    const { found, add } = findings(NAME);
    for (const event of events) {
      if (event.kind !== "failed" && event.kind !== "parked") continue;
      if (!OUTAGE.test(event.why)) continue;
      add(event.at, [event.name], `an attempt at ${event.name} was counted for "${event.why}"`);
    }
    return found;
  },
};
