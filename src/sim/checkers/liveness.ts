// Liveness: once the faults have stopped, everything drains within a bounded time, and a record
// that comes then is done at its first attempt, however long it takes.
//   A record that is tried again and again goes nowhere, even if SQS moves its message away in the
//   end because it was received too often. Being handed out alone is no trial: what follows a
//   failing message in its group is handed out and given back with each of that one's attempts. And
//   where handlers may hang, copies of a message may ask in vain until the handler is given up on.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "liveness";
const TOLD_MAX = 5;
/** No record is tried more often than this after the faults, unless a handler hangs. */
const TRIALS_MAX = 25;
/** Copies that may ask for one record, each as often as its message comes back. */
const COPIES_MAX = 3;

export const liveness: Checker = {
  name: NAME,
  promise: "After the faults have stopped everything drains, and what is new is done at once.",
  check(events, { hangMs, visibilityMs }) {
    const trialsMax = TRIALS_MAX + COPIES_MAX * Math.ceil(hangMs / visibilityMs);
    const { found, add } = findings(NAME);
    const probes = new Set<string>();
    const starts = new Map<string, number>();
    const done = new Set<string>();
    const trials = new Map<string, number>();
    let quiet = false;
    for (const event of events) {
      if (quiet && isTrial(event)) {
        const count = (trials.get(event.name) ?? 0) + 1;
        trials.set(event.name, count);
        if (count === trialsMax + 1) {
          add(event.at, [event.name], `${event.name} goes round and round: tried ${count} times`);
        }
      }
      if (event.kind === "handling") starts.set(event.name, (starts.get(event.name) ?? 0) + 1);
      if (event.kind === "quiet") {
        quiet = true;
        for (const name of event.probes) probes.add(name);
      } else if (event.kind === "committed") done.add(event.name);
      else if (event.kind === "end") {
        if (!event.drained) {
          const stuck = event.waiting.filter(({ where }) => where === "queue");
          const names = stuck.slice(0, TOLD_MAX).map(({ name }) => name);
          const what = names.length === 0 ? "nothing in the queue" : names.join(", ");
          add(event.at, names, `not everything drained after the faults: ${what} still waits`);
        }
        for (const name of probes) {
          const count = starts.get(name) ?? 0;
          if (!done.has(name)) add(event.at, [name], `${name}, sent after the faults, is not done`);
          else if (count > 1)
            add(event.at, [name], `${name}, sent after the faults, ran ${count} times`);
        }
      }
    }
    return found;
  },
};

/** The ledger was asked for it, or a handler begun without asking. */
function isTrial(event: HistoryEvent): event is HistoryEvent & { readonly name: string } {
  if (event.kind === "handling") return event.fence === null;
  return event.kind === "claimed" || event.kind === "refused";
}
