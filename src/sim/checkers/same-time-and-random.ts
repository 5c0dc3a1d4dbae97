// Same time and random: what a handler gets from its context belongs to the record, not to the
// attempt, the process or the day.
//   R1. Random values are the same in every run of the record, replays included, whether or not
//       anything is stored about it.
//   R2. The first claim or direct commit decides the event time. Every later claim, direct commit,
//       run under a claim, and replay has it.
//   R3. A run on a receipt may have another time, because nothing is stored before its end: then it
//       may not commit.

import { parseUuid } from "../../core/encoding/uuid.ts";
import type { DrawnValues } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "same-time-and-random";

export const sameTimeAndRandom: Checker = {
  name: NAME,
  promise: "A record has the same time and random values in every attempt, process and replay.",
  check(events) {
    const { violations, add } = findings(NAME);
    const times = new Map<string, number>();
    const randoms = new Map<string, string>();
    for (const event of events) {
      const { at, actor } = event;
      /** R2 */
      const compare = (name: string, time: number | undefined, what: string) => {
        if (time === undefined) return;
        const first = times.get(name) ?? time;
        const laterMs = time - first;
        if (laterMs !== 0) {
          add(
            at,
            [name],
            `${actor} ${what} ${name} at a time ${laterMs} ms after the recorded one`,
          );
        }
        times.set(name, first);
      };
      if (event.kind === "claimed") compare(event.name, event.eventTime, "claims");
      if (event.kind === "committed") compare(event.name, event.eventTime, "commits");
      if (event.kind !== "drew") continue;
      const { name, fence, replayed, values } = event;
      if (fence !== null || replayed) compare(name, values.now, "runs"); // R3
      const random = randomOf(values);
      const first = randoms.get(name) ?? random;
      if (first !== random) add(at, [name], `${actor} draws ${random} for ${name}, not ${first}`); // R1
      randoms.set(name, first);
    }
    return violations;
  },
};

/** The values without the time, which a UUID has, too. */
function randomOf({ now, random, uuid }: DrawnValues): string {
  const hasTime = parseUuid(uuid)?.timeMs === now;
  return `${random} and ${hasTime ? uuid.slice("00000000-0000-".length) : uuid}`;
}
