// Complete up to: a downstream job that waits for a time gets everything before it. Whenever the
// pipeline says that it is complete up to a time, each record that a queue had accepted by then and
// that has an earlier event time is settled.
//   Messages that an operator purged, or that expired, are excused, as in no-loss.
//   If the queue only counts its messages, the answer stands on reports of processes. They know the
//   event time of a record once they have begun it, and report it some time later. A record that is
//   not begun, or was begun since the last report, is excused: it may be older than any other.

import { POLL_FRESH_MS } from "../../../ingest/policy/watermark.ts";
import { type Checker, findings } from "../checker.ts";

const NAME = "complete-up-to";

export const completeUpTo: Checker = {
  name: NAME,
  promise: "The reported completeUpTo never passes a record that is not settled.",
  check(events) {
    const { violations, add } = findings(NAME);
    const eventTimes = new Map<string, number>();
    /** When a queue first accepted a record that is not settled. */
    const unsettled = new Map<string, number>();
    const settled = new Set<string>();
    /** When a record was first begun. */
    const begunAt = new Map<string, number>();
    const isReported = (name: string, at: number) => {
      const since = begunAt.get(name);
      return since !== undefined && at - since > POLL_FRESH_MS;
    };
    const settle = (name: string) => {
      settled.add(name);
      unsettled.delete(name);
    };
    for (const event of events) {
      switch (event.kind) {
        case "timed":
          eventTimes.set(event.name, event.eventTime);
          break;
        case "sent":
          if (!settled.has(event.name) && !unsettled.has(event.name)) {
            unsettled.set(event.name, event.at);
          }
          break;
        case "claimed":
        case "failed":
          if (!begunAt.has(event.name)) begunAt.set(event.name, event.at);
          break;
        case "committed":
          settle(event.name);
          break;
        case "refused":
          if (event.why === "stale") settle(event.name);
          break;
        case "purged":
        case "expired":
          for (const name of event.names) settle(name);
          break;
        case "complete":
          for (const [name, sentAt] of unsettled) {
            const eventTime = eventTimes.get(name);
            if (eventTime === undefined || sentAt >= event.startedAt) continue;
            if (eventTime >= event.value) continue;
            if (event.counted && !isReported(name, event.startedAt)) continue;
            const aheadMs = event.value - eventTime;
            add(
              event.at,
              [name],
              `complete up to ${aheadMs} ms after ${name}, which is not settled`,
            );
          }
          break;
        default:
      }
    }
    return violations;
  },
};
