// No loss: every accepted record is committed, in the dead-letter queue, or still in a queue.
//   Messages that an operator purged, or that were in their queue for the whole retention period,
//   are excused; the history contains both. A message that disappears earlier is a loss.
//   One expired copy excuses its record, whatever happened to other copies: most worlds retain
//   messages for days.
//   A record that a newer change of the same object superseded counts as settled.

import { type Checker, findings } from "./checker.ts";

const NAME = "no-loss";

export const noLoss: Checker = {
  name: NAME,
  promise: "No accepted record is lost: it is committed, a dead letter, or still in a queue.",
  check(events, { contents }) {
    const { violations, add } = findings(NAME);
    const accepted = new Map<string, number>();
    const settled = new Set<string>();
    for (const event of events) {
      switch (event.kind) {
        case "registered":
        case "object":
          accepted.set(event.name, event.at);
          break;
        case "sent":
          if (!accepted.has(event.name)) accepted.set(event.name, event.at);
          break;
        case "committed":
          settled.add(event.name);
          break;
        case "refused":
          if (contents === "objects" && event.why === "stale") settled.add(event.name);
          break;
        case "purged":
        case "expired":
          for (const name of event.names) settled.add(name);
          break;
        case "end":
          for (const { name } of event.waiting) settled.add(name);
          for (const name of accepted.keys()) {
            if (!settled.has(name)) add(event.at, [name], `${name} was accepted and is lost`);
          }
          break;
        default:
      }
    }
    return violations;
  },
};
