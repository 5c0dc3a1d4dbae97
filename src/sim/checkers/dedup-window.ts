// Dedup window: a FIFO queue recognises a deduplication id for five minutes from its first
// acceptance, not a millisecond longer or shorter, whatever happens to the broker meanwhile. Only
// a purge makes it forget them all.
//   It recognises nothing unless whoever sends a record again uses the id of the first time.

import { type Checker, findings } from "./checker.ts";

const NAME = "dedup-window";

export const dedupWindow: Checker = {
  name: NAME,
  promise:
    "A record has one deduplication id, which is recognised for exactly five minutes from its " +
    "first acceptance.",
  check(events, { fifo, dedupWindowMs }) {
    const { found, add } = findings(NAME);
    if (!fifo) return found;
    const accepted = new Map<string, { readonly at: number; readonly messageId: string }>();
    const idOf = new Map<string, string>();
    for (const event of events) {
      if (event.kind === "purged") accepted.clear();
      if (event.kind !== "sent" || event.dedupId === null) continue;
      const { dedupId, messageId, at, name } = event;
      if ((idOf.get(name) ?? dedupId) !== dedupId) {
        add(at, [name], `${name} was sent again under another deduplication id`);
      }
      idOf.set(name, dedupId);
      const former = accepted.get(dedupId);
      if (former === undefined || messageId !== former.messageId) {
        if (former !== undefined && at - former.at < dedupWindowMs) {
          add(at, [name], `${name} was taken twice, ${at - former.at} ms apart`);
        }
        accepted.set(dedupId, { at, messageId });
      } else if (at - former.at >= dedupWindowMs) {
        add(at, [name], `${name} was taken for a duplicate ${at - former.at} ms after the first`);
      }
    }
    return found;
  },
};
