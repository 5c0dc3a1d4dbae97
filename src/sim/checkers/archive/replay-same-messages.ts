// Replay same messages: a replay of archived messages gives the handler what it got live, and every
// archived message of a committed record can be replayed.

import { type Checker, findings } from "../checker.ts";

const NAME = "replay-same-messages";

export const replaySameMessages: Checker = {
  name: NAME,
  promise: "A replay of archived messages gives handlers what they got live.",
  check(events) {
    const { violations, add } = findings(NAME);
    const live = new Map<string, Set<string>>();
    for (const event of events) {
      if (event.kind === "not-replayable") {
        add(event.at, [], `${event.object} cannot be replayed: ${event.reason}`);
      }
      if (event.kind !== "read") continue;
      const { at, name, content, replayed } = event;
      const contents = live.get(name) ?? new Set();
      live.set(name, contents);
      if (!replayed) contents.add(content);
      else if (!contents.has(content)) {
        add(at, [name], `the replay of ${name} reads ${content}, which no live handler got`);
      }
    }
    return violations;
  },
};
