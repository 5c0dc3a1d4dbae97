// Last writer wins: per object, effects are applied in the order of sequencers. At the end, the row
// is that of the newest change that was applied.

import { type Checker, findings } from "./checker.ts";

const NAME = "last-writer-wins";

export const lastWriterWins: Checker = {
  name: NAME,
  promise: "An older change of an object never overwrites a newer one.",
  check(events, { contents }) {
    const { violations, add } = findings(NAME);
    if (contents !== "objects") return violations;
    const applied = new Map<string, string>();
    for (const event of events) {
      if (event.kind === "effect" && event.accepted) {
        const { object, sequencer, name, at } = event;
        if (object === null || sequencer === null) continue;
        const newest = applied.get(object) ?? "";
        if (sequencer < newest) add(at, [name], `${name} overwrote a newer change of ${object}`);
        else applied.set(object, sequencer);
      } else if (event.kind === "end") {
        for (const { object, sequencer } of event.rows) {
          if ((applied.get(object) ?? sequencer) === sequencer) continue;
          add(event.at, [], `${object} ends with the change ${sequencer}, which is not the newest`);
        }
      }
    }
    return violations;
  },
};
