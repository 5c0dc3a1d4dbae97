// Records end: once nothing waits in a queue, no record is unfinished in the ledger. One that stays
// claimed, released or failed holds completeness back, and reads as if it were still in flight.
//   A message that was purged or has expired leaves its record unfinished: nothing brings it back.
//   A parked record whose event is refused as stale stays parked without a message. An operator who
//   reopens it in the ledger leaves it unfinished; a redrive does not, for it needs a dead letter.

import { type Checker, findings } from "./checker.ts";

const NAME = "records-end";

export const recordsEnd: Checker = {
  name: NAME,
  promise: "Every record ends: once nothing waits, none is unfinished in the ledger.",
  check(events) {
    const { violations, add } = findings(NAME);
    const excused = new Set<string>();
    const parked = new Set<string>();
    const stale = new Set<string>();
    for (const event of events) {
      if (event.kind === "purged" || event.kind === "expired") {
        for (const name of event.names) excused.add(name);
      } else if (event.kind === "parked") {
        parked.add(event.name);
      } else if (event.kind === "refused" && event.why === "stale") {
        if (parked.has(event.name)) stale.add(event.name);
      } else if (event.kind === "reopened") {
        parked.delete(event.name);
        if (stale.has(event.name)) excused.add(event.name);
      } else if (event.kind === "end" && event.drained) {
        for (const { name } of event.waiting) excused.add(name);
        for (const name of event.unfinished) {
          if (excused.has(name)) continue;
          add(event.at, [name], `${name} is unfinished, and no message brings it back`);
        }
      }
    }
    return violations;
  },
};
