// Flights: batches that have run and whose commits are under way, in the order of their beginning.
//   F1. A flight lands when its commit has ended and all flights before it have landed, so that
//       answers go out in the order in which their operations ran.
//   F2. After one has failed, all that began after it fail, whatever their own commits say: they
//       ran on top of what is not there. None begins on top of one that is known to have failed, be
//       it that this one has to wait for others before it can land.
//   F3. At most FLIGHTS_MAX are under way: one that the disk works on, and one that the disk finds
//       waiting when it is done. A second one begins once as many requests wait as the one before
//       it carries: fewer, larger commits cost less, but a disk that rests is worse.
//   F4. Nothing begins on top of a flight that changed objects. What reads objects sees the store,
//       which does not have them yet.

import type { EpochMs } from "../../core/units.ts";
import type { BrokerState } from "../model/broker-state.ts";
import type { Answered, PendingOperation } from "./pending-operation.ts";

const FLIGHTS_MAX = 2;

export interface InFlightCommit {
  /** The models that it ran on; others may have taken their place since. */
  readonly state: BrokerState;
  readonly now: EpochMs;
  readonly jobs: readonly PendingOperation[];
  readonly answered: readonly Answered[];
  /** Whether it changed objects (F4). */
  readonly alone: boolean;
  /** Whether a turn of the event loop has passed since it began. */
  turned: boolean;
}

interface UnderWay {
  readonly flight: InFlightCommit;
  ended: boolean;
  failure: { readonly error: unknown } | null;
}

export class InFlightCommits {
  readonly #underWay: UnderWay[] = [];
  readonly #landed: (flight: InFlightCommit, failure: UnderWay["failure"]) => void;

  constructor(landed: (flight: InFlightCommit, failure: UnderWay["failure"]) => void) {
    this.#landed = landed;
  }

  get count(): number {
    return this.#underWay.length;
  }

  /** Whether another one may begin while this many requests wait. */
  takesAnother(waiting: number): boolean {
    const last = this.#underWay.at(-1);
    if (last === undefined) return true;
    if (last.failure !== null) return false; // F2
    if (this.#underWay.length >= FLIGHTS_MAX || last.flight.alone) return false; // F4
    return waiting >= Math.max(1, last.flight.jobs.length); // F3
  }

  /** `durable` settles when the flight's commit has ended. */
  begin(flight: InFlightCommit, durable: Promise<void>): void {
    const failure = this.#underWay.at(-1)?.failure ?? null; // F2
    const underWay: UnderWay = { flight, ended: false, failure };
    this.#underWay.push(underWay);
    durable.then(
      () => this.#end(underWay),
      (error: unknown) => {
        const at = this.#underWay.indexOf(underWay);
        for (const each of this.#underWay.slice(at)) each.failure ??= { error }; // F2
        this.#end(underWay);
      },
    );
  }

  #end(underWay: UnderWay): void {
    underWay.ended = true;
    while (this.#underWay[0]?.ended === true) {
      const { flight, failure } = this.#underWay.shift() as UnderWay; // F1
      this.#landed(flight, failure);
    }
  }
}
