// Batch complete: a batch is reported complete only if each of its jobs is committed by then.

import { type Checker, findings } from "./checker.ts";

const NAME = "batch-complete";

export const batchComplete: Checker = {
  name: NAME,
  promise: "A batch is complete only when all its jobs are committed.",
  check(events) {
    const { violations, add } = findings(NAME);
    const committed = new Set<string>();
    for (const event of events) {
      if (event.kind === "committed") committed.add(event.name);
      if (event.kind !== "batch-complete") continue;
      const { at, batch, names, whole } = event;
      const open = names.filter((name) => !committed.has(name));
      if (!whole) add(at, names, `${batch} is complete, but not all its jobs were registered`);
      if (open.length > 0) add(at, open, `${batch} is complete, but ${open.join(", ")} is not`);
    }
    return violations;
  },
};
