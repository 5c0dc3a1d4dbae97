// Dedup window: a FIFO queue recognises a deduplication id for exactly five minutes from its first
// acceptance, whatever happens to the broker meanwhile. Only a purge clears the ids.
//   Deduplication works only if a record is resent with the id of the first send. A record that is
//   reopened, by a redrive or a release, gets a new one. So does a job that a sweeper republishes.

import { type Checker, findings } from "./checker.ts";

const NAME = "dedup-window";

export const dedupWindow: Checker = {
  name: NAME,
  promise:
    "A record has one deduplication id, which is recognised for exactly five minutes from its " +
    "first acceptance.",
  check(events, { fifo, dedupWindowMs }) {
    const { violations, add } = findings(NAME);
    if (!fifo) return violations;
    const accepted = new Map<string, { readonly at: number; readonly messageId: string }>();
    const idsOf = new Map<string, Set<string>>();
    const republished = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "purged") accepted.clear();
      // A release must not be taken for a duplicate of the message that was held.
      if (event.kind === "reopened") idsOf.delete(event.name);
      if (event.kind === "republished") {
        republished.set(event.name, (republished.get(event.name) ?? 0) + 1);
      }
      if (event.kind !== "sent" || event.dedupId === null) continue;
      const { dedupId, messageId, at, name } = event;
      const ids = (idsOf.get(name) ?? new Set()).add(dedupId);
      idsOf.set(name, ids);
      if (ids.size > 1 + (republished.get(name) ?? 0)) {
        add(at, [name], `${name} was sent again under another deduplication id`);
      }
      const previous = accepted.get(dedupId);
      if (previous === undefined || messageId !== previous.messageId) {
        if (previous !== undefined && at - previous.at < dedupWindowMs) {
          add(at, [name], `${name} was accepted twice, ${at - previous.at} ms apart`);
        }
        accepted.set(dedupId, { at, messageId });
      } else if (at - previous.at >= dedupWindowMs) {
        add(
          at,
          [name],
          `${name} was rejected as a duplicate ${at - previous.at} ms after the first`,
        );
      }
    }
    return violations;
  },
};
