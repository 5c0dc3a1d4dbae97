// Pause honoured: a paused pipeline does no new work. Consumers see a pause within the interval of
// their looks; the checker allows GRACE_MS for that, for the calls of a record that has just begun,
// and for their latency.
//   A consumer whose process or calls had a fault may begin later: a frozen process sees nothing, a
//   slow claim is answered late, and a look may fail. The checker therefore looks only at consumers
//   that met no fault since QUIET_MS before the pause. A restart does not excuse a consumer: it
//   looks before its first receive.

import { type Checker, findings } from "./checker.ts";

const NAME = "pause-honoured";
const GRACE_MS = 10_000;
/** Longer than any freeze, outage or slow response. */
const QUIET_MS = 600_000;
const CONSUMER = /consumer-\d+/;
const OUTAGE = /^ledger-down#/;

export const pauseHonoured: Checker = {
  name: NAME,
  promise: "No handler starts while the pipeline is paused, but for a short time at the beginning.",
  check(events) {
    const { violations, add } = findings(NAME);
    let pausedAt: number | null = null;
    /** When each consumer, or all of them (""), last met a fault. */
    const faultAt = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "fault") faultAt.set(victimOf(event), event.at);
      else if (event.kind === "paused") pausedAt ??= event.at;
      else if (event.kind === "resumed") pausedAt = null;
      else if (event.kind === "handling" && pausedAt !== null) {
        const lateMs = event.at - pausedAt;
        const last = Math.max(faultAt.get(event.actor) ?? 0, faultAt.get("") ?? 0);
        if (lateMs <= GRACE_MS || last > pausedAt - QUIET_MS) continue;
        add(
          event.at,
          [event.name],
          `${event.actor} begins ${event.name} ${lateMs} ms after a pause`,
        );
      }
    }
    return violations;
  },
};

/** The consumer that a fault delays; "" for all of them. */
function victimOf({ id, what }: { readonly id: string; readonly what: string }): string {
  if (OUTAGE.test(id)) return "";
  return CONSUMER.exec(`${id} ${what}`)?.[0] ?? "none";
}
