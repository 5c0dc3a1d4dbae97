// Watermark: what the ledger keeps of it never goes back, whoever writes it and in whatever order,
// and so no restart takes the stream's time back. Nor does it run ahead: it stays behind the newest
// event by the lateness that the pipeline allows for.
//   No event is older than the moment at which the outbox or the bucket had it first, which is what
//   a history tells.

import { type Checker, findings } from "./checker.ts";

const NAME = "watermark-monotone";

export const watermarkMonotone: Checker = {
  name: NAME,
  promise: "The watermark that is kept never goes back, and never runs ahead of the lateness.",
  check(events, { allowedLatenessMs }) {
    const { found, add } = findings(NAME);
    let kept = Number.NEGATIVE_INFINITY;
    let newest = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      if (event.kind === "registered" || event.kind === "object") newest = event.at;
      if (event.kind !== "watermark") continue;
      const { actor, at, stored } = event;
      if (stored < kept) {
        add(at, [], `${actor} took the watermark back by ${kept - stored} ms`);
      }
      if (stored > newest - allowedLatenessMs) {
        const aheadMs = stored - (newest - allowedLatenessMs);
        add(at, [], `${actor} kept a watermark that is ${aheadMs} ms ahead of the lateness`);
      }
      kept = stored;
    }
    return found;
  },
};
