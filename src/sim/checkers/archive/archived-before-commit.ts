// Archived before commit: in a world whose pipeline archives, a message is in the archive before
// its record is committed, and the commit names the object (decision 0027).

import { type Checker, findings } from "../checker.ts";

const NAME = "archived-before-commit";

export const archivedBeforeCommit: Checker = {
  name: NAME,
  promise: "A message is in the archive before its record is committed, and the commit names it.",
  check(events, { archives = false }) {
    const { violations, add } = findings(NAME);
    if (!archives) return violations;
    const objects = new Map<string, string>();
    for (const event of events) {
      if (event.kind === "archived") objects.set(event.object, event.name);
      if (event.kind !== "committed" || event.superseded) continue;
      const { at, name, archived = null } = event;
      if (archived === null) add(at, [name], `the commit of ${name} names no archived message`);
      else if (objects.get(archived) !== name) {
        add(
          at,
          [name],
          `${name} is committed, and the archive has no message of it at ${archived}`,
        );
      }
    }
    return violations;
  },
};
