// Write-ahead: nothing is sent that the outbox does not know of, and nothing is handled or has an
// effect under a claim that the ledger does not know of.
//   Where receipts are trusted there is no claim before the commit: then claim, effects and commit
//   are one write, and no handler has been given a fence.

import { type Checker, findings } from "./checker.ts";

const NAME = "write-ahead";

export const writeAhead: Checker = {
  name: NAME,
  promise: "What is sent was registered before, and an effect comes after the claim it rests on.",
  check(events, { contents }) {
    const { found, add } = findings(NAME);
    const registered = new Set<string>();
    const claimed = new Set<string>();
    /** Effects within a commit, which may yet turn out to be their claim as well. */
    const within = new Map<string, { readonly at: number; readonly actor: string }>();
    for (const event of events) {
      if (event.kind === "registered") registered.add(event.name);
      else if (event.kind === "claimed") claimed.add(`${event.name} ${event.fence}`);
      else if (event.kind === "sent" && contents === "messages" && !registered.has(event.name)) {
        add(event.at, [event.name], `${event.name} was sent before it was in the outbox`);
      } else if (event.kind === "committed" && event.direct) {
        within.delete(`${event.name} ${event.fence}`);
      } else if (event.kind === "handling" && event.fence !== null) {
        if (claimed.has(`${event.name} ${event.fence}`)) continue;
        const { name, actor, at } = event;
        add(at, [name], `${actor} handled ${name} under a claim that was not written down`);
      } else if (event.kind === "effect") {
        const { name, actor, at, fence, sink } = event;
        if (claimed.has(`${name} ${fence}`)) continue;
        if (sink === "transactional") within.set(`${name} ${fence}`, { at, actor });
        else add(at, [name], `${actor} had an effect of ${name} that no claim was written for`);
      }
    }
    for (const [which, { at, actor }] of within) {
      const [name = ""] = which.split(" ");
      add(at, [name], `${actor} had an effect of ${name} that no claim was written for`);
    }
    return found;
  },
};
