// Attempts counted: an attempt that started counts once, however it ended. Otherwise a record that
// kills its consumer would be retried forever, and interrupt other records each time.
//   A released attempt does not count. After a commit, or after an operator reopened the record,
//   counting starts at zero again. With `lease: "receipt"` nothing is written before the end, so a
//   crash leaves nothing to count.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "attempts-counted";

export const attemptsCounted: Checker = {
  name: NAME,
  promise: "Every attempt under a claim counts once, however it ended, unless it was released.",
  check(events) {
    const { violations, add } = findings(NAME);
    const counted = new Map<string, number>();
    const claimed = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "claimed") {
        const { name, attempt, at } = event;
        const expected = (counted.get(name) ?? 0) + 1;
        if (attempt !== expected) {
          add(at, [name], `attempt ${expected} at ${name} was counted as ${attempt}`);
        }
        claimed.set(name, attempt);
      }
      const count = attemptsAfter(event, claimed);
      if (count !== null) counted.set(count.name, count.attempts);
    }
    return violations;
  },
};

/** The count after an event that changes it; null for all other events. */
function attemptsAfter(event: HistoryEvent, claimed: ReadonlyMap<string, number>) {
  switch (event.kind) {
    case "claimed":
      return { name: event.name, attempts: event.attempt };
    case "failed":
    case "parked":
    case "held":
      return { name: event.name, attempts: event.attempts };
    case "released": // A repeated release has no further effect.
      return { name: event.name, attempts: (claimed.get(event.name) ?? 1) - 1 };
    case "committed":
    case "reopened":
      return { name: event.name, attempts: 0 };
    default:
      return null;
  }
}
