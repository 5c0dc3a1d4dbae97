// Effects once, per record key and generation: a transactional sink writes the effects of a record
// once. An idempotent sink may get them again, for the same record with the same value; the commit
// happens once. A committed record has its effects, with two exceptions: a newer change of its
// object superseded it, or the pipeline drops missing objects.

import { originOf } from "../record-names.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "effects-once";

export const effectsOnce: Checker = {
  name: NAME,
  promise:
    "The effects of a record are applied exactly once, and they are the effects of that record.",
  check(events, { drops }) {
    const { violations, add } = findings(NAME);
    const written = new Map<string, number>();
    const values = new Map<string, string>();
    const commits = new Map<string, number>();
    const expected = new Map<string, string>();
    const applied = new Set<string>();
    for (const event of events) {
      if (event.kind === "object") expected.set(event.name, event.value);
      if (event.kind === "committed") {
        const fence = commits.get(event.name);
        if (fence !== undefined && fence !== event.fence) {
          add(
            event.at,
            [event.name],
            `${event.name} was committed twice, the second time by ${event.actor}`,
          );
        }
        commits.set(event.name, event.fence);
        // Redriven rows that are rejected again have no effects.
        const isRedrive = originOf(event.name) !== event.name;
        if (!event.superseded && !drops && !isRedrive && !applied.has(event.name)) {
          add(event.at, [event.name], `${event.name} was committed without its effects`);
        }
      }
      if (event.kind === "effect") applied.add(event.name);
      if (event.kind !== "effect" || !event.accepted) continue;
      const { name, value, sink, actor, at } = event;
      const fence = written.get(name);
      if (sink === "transactional" && fence !== undefined) {
        add(at, [name], `the effects of ${name} were written twice, the second time by ${actor}`);
      }
      written.set(name, event.fence);
      const previous = values.get(name) ?? expected.get(name);
      if (previous !== undefined && previous !== value) {
        add(at, [name], `the effect of ${name} was ${JSON.stringify(value)}, not ${previous}`);
      }
      values.set(name, value);
    }
    return violations;
  },
};
