// Listed or live: of a backfill and the event of the same object version, at most one is applied,
// in whichever order they come, and also if both are in progress at once.

import { type Checker, findings } from "./checker.ts";

const NAME = "listed-or-live";

export const listedOrLive: Checker = {
  name: NAME,
  promise: "A backfill and an event of the same object version are never both applied.",
  check(events) {
    const { violations, add } = findings(NAME);
    /** The change that each listed object is the result of. */
    const changes = new Map<string, string>();
    const applied = new Map<string, string>();
    for (const event of events) {
      if (event.kind === "listed" && event.of !== null) changes.set(event.name, event.of);
      if (event.kind !== "committed" || event.superseded) continue;
      const change = changes.get(event.name) ?? event.name;
      const previous = applied.get(change);
      if (previous !== undefined && previous !== event.name) {
        add(event.at, [change], `${change} was applied by ${previous} and by ${event.name}`);
      }
      applied.set(change, event.name);
    }
    return violations;
  },
};
