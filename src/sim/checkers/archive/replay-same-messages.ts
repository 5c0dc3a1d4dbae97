// Replay same messages: a replay of archived messages gives the handler what it got live. Every
// archived message of a committed record can be replayed, unless it is masked, and commits again.

import { type Checker, findings } from "../checker.ts";

const NAME = "replay-same-messages";

export const replaySameMessages: Checker = {
  name: NAME,
  promise: "A replay of archived messages gives handlers what they got live.",
  check(events) {
    const { violations, add } = findings(NAME);
    const live = new Map<string, Set<string>>();
    for (const event of events) {
      // The mask may hide what a replay needs to read the message (masked-stays-hidden.ts).
      if (event.kind === "not-replayable" && event.cause !== "masked") {
        add(event.at, [], `${event.object} cannot be replayed: ${event.reason}`);
      }
      if (event.kind === "messages-replayed" && event.failed > 0) {
        add(event.at, [], `${event.failed} messages that were committed live fail in a replay`);
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
