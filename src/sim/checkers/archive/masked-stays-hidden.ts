// Masked stays hidden: a value that governance had masked is stored nowhere in clear. Queues are
// excused, and so is a held message: they keep the message itself, which has no other copy.
//   H1. What a handler gets is masked, live and in a replay, so what it writes is, too.
//   H2. A replay reports a message that it cannot read as masked if, and only if, it is masked.

import { hiddenValuesIn } from "../../hidden-value.ts";
import type { HistoryEvent } from "../../history.ts";
import { type Checker, findings } from "../checker.ts";

const NAME = "masked-stays-hidden";

export const maskedStaysHidden: Checker = {
  name: NAME,
  promise: "A value that governance masked is in no sink, archive, failure report, log or replay.",
  check(events) {
    const { violations, add } = findings(NAME);
    const masked = new Map<string, boolean>();
    for (const event of events) {
      const { at } = event;
      if (event.kind === "archived") masked.set(event.object, event.masked === true);
      if (event.kind === "exposed" && event.by === "masked") {
        add(at, [event.name], `the masked value of ${event.name} is in ${event.where}`);
      }
      if (event.kind === "not-replayable") {
        const { object, cause } = event;
        const isMasked = masked.get(object) === true;
        if (isMasked !== (cause === "masked")) {
          const stored = isMasked ? "masked" : "in clear";
          add(at, [], `${object} is stored ${stored}, and a replay says that it is ${cause}`); // H2
        }
      }
      for (const { name, by } of hiddenValuesIn(textOf(event))) {
        if (by !== "masked") continue;
        add(at, [name], `the masked value of ${name} is in ${whereOf(event)} of ${name}`);
      }
    }
    return violations;
  },
};

/** The texts of user code, and what it got (H1). */
function textOf(event: HistoryEvent): string {
  if (event.kind === "read") return event.content;
  if (event.kind === "effect") return event.value;
  return event.kind === "failed" || event.kind === "parked" ? event.why : "";
}

function whereOf(event: HistoryEvent): string {
  if (event.kind !== "read") return `the ${event.kind}`;
  return event.replayed ? "the replayed handler" : "the handler";
}
