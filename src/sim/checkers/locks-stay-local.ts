// Locks stay local: a process that is frozen with its locks must not stop the others. A busy record
// is not an outage, so it never makes a consumer pause.
//   A consumer may pause after an outage of the ledger or the sink, after a failed or slow call of
//   its own to one of them, and after its own process was stopped. The checker therefore looks
//   only at consumers that met none of these for QUIET_MS.

import { type Checker, findings } from "./checker.ts";

const NAME = "locks-stay-local";
/** Longer than any outage, slow response or retry. */
const QUIET_MS = 600_000;
const OUTAGE = /^(ledger|sink)-down#/;
/** Calls of a consumer, or of its renewing thread, to the ledger or the sink. */
const CALL = /^(?:frozen\/)?(consumer-\d+)(?:-keeper)?\/(?:ledger|sink|claim|commit|renew|fail|re)/;
const CONSUMER = /consumer-\d+/;

export const locksStayLocal: Checker = {
  name: NAME,
  promise: "Records that another process has locked never make a consumer stop receiving.",
  check(events) {
    const { violations, add } = findings(NAME);
    /** When each consumer, or all of them (""), last met something that may pause it. */
    const faultAt = new Map<string, number>();
    for (const event of events) {
      if (event.kind === "process") faultAt.set(event.actor, event.at);
      if (event.kind === "fault") {
        const victim = victimOf(event);
        if (victim !== null) faultAt.set(victim, event.at);
      }
      if (event.kind !== "breaker" || !event.open) continue;
      const last = Math.max(faultAt.get(event.actor) ?? 0, faultAt.get("") ?? 0);
      if (event.at - last < QUIET_MS) continue;
      add(event.at, [], `${event.actor} stopped receiving, although ledger and sink worked`);
    }
    return violations;
  },
};

/** The consumer that a fault may pause; "" for all of them, null for none. */
function victimOf({ id, what }: { readonly id: string; readonly what: string }): string | null {
  if (OUTAGE.test(id)) return "";
  if (id.includes("/")) return CALL.exec(id)?.[1] ?? null;
  return CONSUMER.exec(what)?.[0] ?? null; // The timeline stops a process, or changes its clock.
}
