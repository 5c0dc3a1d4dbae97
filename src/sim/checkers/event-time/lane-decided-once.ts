// Lane decided once: the ledger stores the first decision about a record's lane, and every claim,
// retry, redrive and release gets that one, with its watermark. A handler that runs under a claim
// runs in that lane. A decision uses a watermark that was stored before.
//   A committed record that is processed again is a new event, and gets a new decision. A first
//   attempt on a receipt writes nothing before its end, so a crash may leave no decision behind.

import { type Checker, findings } from "../checker.ts";

const NAME = "lane-decided-once";

export const laneDecidedOnce: Checker = {
  name: NAME,
  promise: "A record has one lane, decided by a stored watermark, whatever happens to it later.",
  check(events) {
    const { violations, add } = findings(NAME);
    const decided = new Map<string, string>();
    let stored = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      if (event.kind === "watermark") stored = Math.max(stored, event.stored);
      if (event.kind === "committed") decided.delete(event.name);
      if (event.kind !== "claimed" && event.kind !== "handling") continue;
      const { name, at, actor, lane } = event;
      if (lane.watermark !== null && lane.watermark > stored) {
        const aheadMs = lane.watermark - stored;
        add(at, [name], `${actor} decides about ${name} by a watermark ${aheadMs} ms ahead`);
      }
      if (event.kind === "handling" && event.fence === null) continue;
      const text = `${lane.lane} (watermark ${lane.watermark})`;
      const first = decided.get(name) ?? text;
      if (first !== text) add(at, [name], `the lane of ${name} was ${first} and is now ${text}`);
      decided.set(name, first);
    }
    return violations;
  },
};
