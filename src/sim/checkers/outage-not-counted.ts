// Outage not counted: a dependency may be down for longer than a record may be retried. An attempt
// that ends because of the outage is released, so that an outage creates no dead letters.
//   A bucket that is down fails the handler, and that attempt counts: retries cover it.

import { type Checker, findings } from "./checker.ts";

const NAME = "outage-not-counted";
/** How the errors of a dependency that is down begin. */
const OUTAGE = /^TG_((LEDGER|SINK|QUEUE)_UNAVAILABLE|LEDGER_BUSY): /;

export const outageNotCounted: Checker = {
  name: NAME,
  promise: "A ledger, sink or dead-letter queue that is down is never counted against a record.",
  check(events) {
    const { violations, add } = findings(NAME);
    for (const event of events) {
      if (event.kind !== "failed" && event.kind !== "parked") continue;
      if (!OUTAGE.test(event.why)) continue;
      add(event.at, [event.name], `an attempt at ${event.name} was counted for "${event.why}"`);
    }
    return violations;
  },
};
