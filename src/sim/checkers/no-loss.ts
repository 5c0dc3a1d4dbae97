// No loss: what was accepted is committed, lies among the dead letters, or visibly waits.
//   What an operator purged, or what stayed longer than its queue keeps a message, is gone by right
//   and was told of; a message that goes before its time is not excused. One copy that expired
//   excuses its record, whatever became of the others: most worlds keep messages for days.
//   A record of an object that a newer one of the same object has overtaken is settled with it.

import { type Checker, findings } from "./checker.ts";

const NAME = "no-loss";

export const noLoss: Checker = {
  name: NAME,
  promise: "Nothing that was accepted is lost: it is committed, a dead letter, or visibly waiting.",
  check(events, { contents }) {
    const { found, add } = findings(NAME);
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
            if (!settled.has(name)) add(event.at, [name], `${name} was accepted and is nowhere`);
          }
          break;
        default:
      }
    }
    return found;
  },
};
