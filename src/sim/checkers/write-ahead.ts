// Write-ahead: nothing is sent that the outbox does not know of, and no sink outside the ledger is
// told anything under a claim that the ledger does not know of.

import { type Checker, findings } from "./checker.ts";

const NAME = "write-ahead";

export const writeAhead: Checker = {
  name: NAME,
  promise: "What is sent was registered before, and an effect comes after the claim it rests on.",
  check(events, { carries }) {
    const { found, add } = findings(NAME);
    const registered = new Set<string>();
    const claimed = new Set<string>();
    for (const event of events) {
      if (event.kind === "registered") registered.add(event.name);
      else if (event.kind === "claimed") claimed.add(`${event.name} ${event.fence}`);
      else if (event.kind === "sent" && carries === "messages" && !registered.has(event.name)) {
        add(event.at, [event.name], `${event.name} was sent before it was in the outbox`);
      } else if (event.kind === "effect" && event.sink === "idempotent") {
        if (claimed.has(`${event.name} ${event.fence}`)) continue;
        const { name, actor, at } = event;
        add(at, [name], `${actor} had an effect of ${name} that no claim was written down for`);
      }
    }
    return found;
  },
};
