// Watermark: what the ledger keeps of it never goes back, whoever writes it and in whatever order,
// and so no restart takes the stream's time back.

import { type Checker, findings } from "./checker.ts";

const NAME = "watermark-monotone";

export const watermarkMonotone: Checker = {
  name: NAME,
  promise: "The watermark that is kept never goes back.",
  check(events) {
    const { found, add } = findings(NAME);
    let kept = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      if (event.kind !== "watermark") continue;
      if (event.stored < kept) {
        add(event.at, [], `${event.actor} took the watermark back by ${kept - event.stored} ms`);
      }
      kept = event.stored;
    }
    return found;
  },
};
