// Refused stays out: data that governance refused is stored nowhere. The queue and the outbox of
// its producer are excused, and so is a message that SQS moved by itself.

import { hiddenValuesIn } from "../hidden-value.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "refused-stays-out";

export const refusedStaysOut: Checker = {
  name: NAME,
  promise: "A value that governance refused is in no sink, ledger, archive, dead letter or log.",
  check(events) {
    const { violations, add } = findings(NAME);
    for (const event of events) {
      const { at } = event;
      if (event.kind === "exposed") {
        if (event.by !== "refused") continue;
        add(at, [event.name], `the refused value of ${event.name} is in ${event.where}`);
      } else if (event.kind === "effect" || event.kind === "failed" || event.kind === "parked") {
        const text = event.kind === "effect" ? event.value : event.why;
        for (const { name, by } of hiddenValuesIn(text)) {
          if (by !== "refused") continue;
          add(at, [name], `the refused value of ${name} is in the ${event.kind} of ${event.name}`);
        }
      }
    }
    return violations;
  },
};
