// Write-ahead: a message is sent only after its row is in the outbox. A handler runs, and an effect
// is applied, only under a claim that is in the ledger.
//   With `lease: "receipt"` nothing is claimed before the commit: claim, effects and commit are one
//   write, and the handler gets no fence.

import { type Checker, findings } from "./checker.ts";

const NAME = "write-ahead";

export const writeAhead: Checker = {
  name: NAME,
  promise: "A message is sent after it is registered, and an effect is applied after its claim.",
  check(events, { contents }) {
    const { violations, add } = findings(NAME);
    const registered = new Set<string>();
    const claimed = new Set<string>();
    /** Effects of a commit that may turn out to contain their claim as well. */
    const unclaimed = new Map<string, { readonly at: number; readonly actor: string }>();
    for (const event of events) {
      if (event.kind === "registered") registered.add(event.name);
      else if (event.kind === "claimed") claimed.add(`${event.name} ${event.fence}`);
      else if (event.kind === "sent" && contents === "messages" && !registered.has(event.name)) {
        add(event.at, [event.name], `${event.name} was sent before it was in the outbox`);
      } else if (event.kind === "committed" && event.direct) {
        unclaimed.delete(`${event.name} ${event.fence}`);
      } else if (event.kind === "handling" && event.fence !== null) {
        if (claimed.has(`${event.name} ${event.fence}`)) continue;
        const { name, actor, at } = event;
        add(at, [name], `${actor} handled ${name} under a claim that is not in the ledger`);
      } else if (event.kind === "effect") {
        const { name, actor, at, fence, sink } = event;
        if (claimed.has(`${name} ${fence}`)) continue;
        if (sink === "transactional") unclaimed.set(`${name} ${fence}`, { at, actor });
        else add(at, [name], `${actor} applied an effect of ${name} without a claim`);
      }
    }
    for (const [which, { at, actor }] of unclaimed) {
      const [name = ""] = which.split(" ");
      add(at, [name], `${actor} applied an effect of ${name} without a claim`);
    }
    return violations;
  },
};
