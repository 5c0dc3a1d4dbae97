// Attempts counted: an attempt that began counts, however it ended, and counts once. A record that
// kills its consumer would otherwise be tried for ever, and take others along each time.
//   An attempt that was given back is as if it had not been made; one that was committed, or let
//   try again by an operator, begins anew. On a receipt alone nothing is written before the end, so
//   that a crash there leaves nothing to count.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "attempts-counted";

export const attemptsCounted: Checker = {
  name: NAME,
  promise: "Every attempt under a claim counts once, however it ended, unless it was given back.",
  check(events) {
    const { found, add } = findings(NAME);
    const counted = new Map<string, number>();
    const claimed = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "claimed") {
        const { name, attempt, at } = event;
        const due = (counted.get(name) ?? 0) + 1;
        if (attempt !== due) add(at, [name], `attempt ${due} at ${name} was called ${attempt}`);
        claimed.set(name, attempt);
      }
      const left = attemptsLeft(event, claimed);
      if (left !== null) counted.set(left.name, left.attempts);
    }
    return found;
  },
};

/** What is counted of a record after an event that changes it; null for all others. */
function attemptsLeft(event: HistoryEvent, claimed: ReadonlyMap<string, number>) {
  switch (event.kind) {
    case "claimed":
      return { name: event.name, attempts: event.attempt };
    case "failed":
    case "parked":
      return { name: event.name, attempts: event.attempts };
    case "released": // The same again if it is told twice.
      return { name: event.name, attempts: (claimed.get(event.name) ?? 1) - 1 };
    case "committed":
    case "reopened":
      return { name: event.name, attempts: 0 };
    default:
      return null;
  }
}
