// Watermark: the stored watermark never decreases, whichever process writes it and in whatever
// order, so a restart never moves the stream's time back. It never runs ahead either: it stays
// behind the newest event by `outOfOrderMs`.
//   A history has no event times, but no event time is later than the moment at which the outbox or
//   the bucket first had the event.

import { type Checker, findings } from "../checker.ts";

const NAME = "watermark-monotone";

export const watermarkMonotone: Checker = {
  name: NAME,
  promise: "The stored watermark never decreases, and stays behind by outOfOrderMs.",
  check(events, { outOfOrderMs }) {
    const { violations, add } = findings(NAME);
    let previous = Number.NEGATIVE_INFINITY;
    let newest = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      if (event.kind === "registered" || event.kind === "object") newest = event.at;
      if (event.kind !== "watermark") continue;
      const { actor, at, stored } = event;
      if (stored < previous) {
        add(at, [], `${actor} moved the watermark back by ${previous - stored} ms`);
      }
      if (stored > newest - outOfOrderMs) {
        const aheadMs = stored - (newest - outOfOrderMs);
        add(at, [], `${actor} stored a watermark ${aheadMs} ms ahead of what outOfOrderMs allows`);
      }
      previous = stored;
    }
    return violations;
  },
};
