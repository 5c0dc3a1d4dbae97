// Input names event: what the ledger stores about a record is about that record, and not about
// another one of the same delivery or process.

import { originOf } from "../record-names.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "input-names-event";

export const inputNamesEvent: Checker = {
  name: NAME,
  promise: "The stored input of a record names the event that the record came from.",
  check(events) {
    const { violations, add } = findings(NAME);
    /** The record of every input that the workload can have: a key, or object and sequencer. */
    const records = new Map<string, string>();
    for (const event of events) {
      if (event.kind === "registered") records.set(event.name, event.name);
      if (event.kind === "object") records.set(`${event.object} ${event.sequencer}`, event.name);
      if (event.kind !== "claimed" && event.kind !== "committed") continue;
      const { name, input = null } = event;
      const named = input === null ? undefined : records.get(input);
      // Redriven rows name the event of their file.
      if (named !== undefined && named !== originOf(name)) {
        add(event.at, [name, named], `the input of ${name} names ${named}`);
      }
    }
    return violations;
  },
};
