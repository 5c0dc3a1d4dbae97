// No effect under an older fence: after a claim with a higher fence, nothing that arrives under a
// lower fence changes anything.

import { type Checker, findings } from "./checker.ts";

const NAME = "no-effect-under-older-fence";

export const noEffectUnderOlderFence: Checker = {
  name: NAME,
  promise:
    "No commit happens under a fence older than the newest claim, and no effect under one older " +
    "than the commit or the previous effect.",
  check(events) {
    const { violations, add } = findings(NAME);
    const newest = new Map<string, number>();
    const committed = new Map<string, number>();
    const applied = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "claimed") {
        const previous = newest.get(event.name) ?? Number.NEGATIVE_INFINITY;
        if (event.fence <= previous) {
          add(event.at, [event.name], `${event.name} was claimed with a fence that did not grow`);
        }
        newest.set(event.name, event.fence);
      } else if (event.kind === "committed") {
        const { name, fence, at, actor } = event;
        if (fence < (newest.get(name) ?? fence)) {
          add(at, [name], `${actor} committed ${name} under a fence older than the newest claim`);
        }
        committed.set(name, fence);
      } else if (event.kind === "effect" && event.accepted) {
        const { name, fence, at, actor } = event;
        if (fence < (committed.get(name) ?? fence)) {
          add(
            at,
            [name],
            `${actor} applied an effect of ${name} under a fence older than committed`,
          );
        }
        if (fence < (applied.get(name) ?? fence)) {
          add(at, [name], `${actor} replaced a newer effect of ${name} by an older one`);
        }
        applied.set(name, fence);
      }
    }
    return violations;
  },
};
