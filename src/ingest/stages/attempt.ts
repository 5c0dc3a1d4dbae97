// Attempt: code that is not ours, run for as long as its lease lives and its deadline has not
// passed.
//   E1. When either ends, the signal aborts and nobody waits any longer: what ignores the signal
//       keeps no slot, and whatever it does afterwards is heard by nobody.

import { type InFlightDelivery, untilAborted } from "../running/in-flight-delivery.ts";
import type { Deadlines } from "./deadlines.ts";

/** The attempt did not come to an end in time. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
  readonly code = "ABORT_ERR";
}

export interface Attempt {
  readonly signal: AbortSignal;
  /** Runs `work`, or gives up on it as soon as the signal aborts (E1). */
  run(work: () => Promise<void>): Promise<void>;
  /** The attempt is over: its signal aborts, and what was gathered is all there will be. */
  close<T>(result: readonly T[]): readonly T[];
}

/** The same for all: an error of its own for each record would cost more than the record. */
const OVER = new Error("the attempt is over");

/** Begins an attempt, which fails with `tooLong` at its deadline. */
export function beginAttempt(
  inFlight: InFlightDelivery,
  deadlines: Deadlines,
  tooLong: () => Error,
): Attempt {
  const own = new AbortController();
  const follow = () => own.abort(inFlight.signal.reason);
  if (inFlight.signal.aborted) follow();
  inFlight.signal.addEventListener("abort", follow, { once: true });
  const end = deadlines.begin(() => own.abort(tooLong()));
  return {
    signal: own.signal,
    run: (work) => untilAborted(own.signal, work),
    close(result) {
      end();
      inFlight.signal.removeEventListener("abort", follow);
      const all = result.slice();
      own.abort(OVER);
      return all;
    },
  };
}
