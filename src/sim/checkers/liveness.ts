// Liveness: after the faults stop, everything drains within a bounded time, and a new record is
// committed at its first attempt, however long the attempt takes.
//   A record that is tried again and again makes no progress, even if SQS finally moves its message
//   because it was received too often. A delivery alone is not a trial: messages behind a failing
//   one of their group are delivered and returned with each of its attempts. Where handlers may
//   hang, copies of a message may be refused until the hanging handler times out. Each copy of a
//   record, such as a release that was sent again, may be refused once while another copy runs, and
//   is refused once more as a duplicate when the record is committed.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "liveness";
const REPORTED_MAX = 5;
/** Trials per record after the faults stop, if no handler hangs. */
const TRIALS_MAX = 25;
const REFUSALS_PER_COPY = 2;
/** Copies that may try to claim one record, each as often as its message is redelivered. */
const COPIES_MAX = 3;

export const liveness: Checker = {
  name: NAME,
  promise: "After the faults stop, everything drains and new records succeed at first attempt.",
  check(events, { hangMs, visibilityMs }) {
    const trialsMax = TRIALS_MAX + COPIES_MAX * Math.ceil(hangMs / visibilityMs);
    const { violations, add } = findings(NAME);
    const probes = new Set<string>();
    const starts = new Map<string, number>();
    const done = new Set<string>();
    const trials = new Map<string, number>();
    const copies = new Map<string, Set<string>>();
    let quiet = false;
    for (const event of events) {
      if (quiet && isTrial(event)) {
        const count = (trials.get(event.name) ?? 0) + 1;
        trials.set(event.name, count);
        const refusals = REFUSALS_PER_COPY * (copies.get(event.name)?.size ?? 0);
        if (count === trialsMax + refusals + 1) {
          add(event.at, [event.name], `${event.name} makes no progress: tried ${count} times`);
        }
      }
      if (quiet && event.kind === "delivered") addCopies(copies, event);
      if (event.kind === "handling") starts.set(event.name, (starts.get(event.name) ?? 0) + 1);
      if (event.kind === "quiet") {
        quiet = true;
        for (const name of event.probes) probes.add(name);
      } else if (event.kind === "committed") done.add(event.name);
      else if (event.kind === "end") {
        if (!event.drained) {
          const stuck = event.waiting.filter(({ where }) => where === "queue");
          const names = stuck.slice(0, REPORTED_MAX).map(({ name }) => name);
          const rest =
            names.length === 0 ? "the queue is empty" : `in the queue: ${names.join(", ")}`;
          add(event.at, names, `not everything drained after the faults stopped; ${rest}`);
        }
        for (const name of probes) {
          const count = starts.get(name) ?? 0;
          if (!done.has(name))
            add(event.at, [name], `${name}, sent after the faults, is not committed`);
          else if (count > 1)
            add(event.at, [name], `${name}, sent after the faults, ran ${count} times`);
        }
      }
    }
    return violations;
  },
};

function addCopies(
  copies: Map<string, Set<string>>,
  { names, messageId }: { readonly names: readonly string[]; readonly messageId: string },
): void {
  for (const name of names) {
    const messages = copies.get(name) ?? new Set();
    copies.set(name, messages.add(messageId));
  }
}

/** The consumer asked the ledger for a claim, or started a handler without one. */
function isTrial(event: HistoryEvent): event is HistoryEvent & { readonly name: string } {
  if (event.kind === "handling") return event.fence === null;
  return event.kind === "claimed" || event.kind === "refused";
}
