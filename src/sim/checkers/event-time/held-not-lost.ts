// Held, not lost: a record that was too late is acknowledged only once it is durable elsewhere, and
// it stays there: at the end it is committed, held in the ledger, or in a queue.

import { type Checker, findings } from "../checker.ts";

const NAME = "held-not-lost";

export const heldNotLost: Checker = {
  name: NAME,
  promise: "A record that is too late is held or in the late queue until it is committed.",
  check(events) {
    const { violations, add } = findings(NAME);
    const late = new Set<string>();
    const durable = new Set<string>();
    const settled = new Set<string>();
    for (const event of events) {
      switch (event.kind) {
        case "held":
          late.add(event.name);
          if (event.to === "ledger") durable.add(event.name);
          break;
        case "late-sent":
          durable.add(event.name);
          break;
        case "committed":
          settled.add(event.name);
          break;
        case "refused":
          if (event.why === "stale") settled.add(event.name);
          break;
        case "purged":
        case "expired":
          for (const name of event.names) settled.add(name);
          break;
        case "acked":
          for (const name of event.names) {
            if (!late.has(name) || durable.has(name) || settled.has(name)) continue;
            add(event.at, [name], `${event.actor} acknowledged ${name} before it was durable`);
          }
          break;
        case "end":
          for (const { name } of event.waiting) settled.add(name);
          for (const name of late) {
            if (!settled.has(name)) add(event.at, [name], `${name} was too late and is lost`);
          }
          break;
        default:
      }
    }
    return violations;
  },
};
