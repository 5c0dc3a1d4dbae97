// No effect under an older fence: once a claim was made with a higher fence, whatever still comes
// under a lower one changes nothing.

import { type Checker, findings } from "./checker.ts";

const NAME = "no-effect-under-older-fence";

export const noEffectUnderOlderFence: Checker = {
  name: NAME,
  promise: "No effect is applied, and nothing committed, under an older fence than was committed.",
  check(events) {
    const { found, add } = findings(NAME);
    const newest = new Map<string, number>();
    const committed = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "claimed") {
        const former = newest.get(event.name) ?? Number.NEGATIVE_INFINITY;
        if (event.fence <= former) {
          add(event.at, [event.name], `${event.name} was claimed with a fence that did not grow`);
        }
        newest.set(event.name, event.fence);
      } else if (event.kind === "committed") {
        const { name, fence, at, actor } = event;
        if (fence < (newest.get(name) ?? fence)) {
          add(at, [name], `${actor} committed ${name} under a fence that another had outdone`);
        }
        committed.set(name, fence);
      } else if (event.kind === "effect" && event.accepted) {
        const { name, fence, at, actor } = event;
        if (fence < (committed.get(name) ?? fence)) {
          add(at, [name], `${actor} had an effect of ${name} under an older fence than committed`);
        }
      }
    }
    return found;
  },
};
