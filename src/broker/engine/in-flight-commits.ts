// InFlightCommits: batches that have run and whose commits are in flight, oldest first.
//   F1. A commit completes when it has ended and all commits before it have completed, so responses
//       go out in the order in which their operations ran.
//   F2. After one commit has failed, all that began after it fail, whatever their own results: they
//       ran on state that was not stored. None begins behind a commit that is known to have failed,
//       even while that one still waits for earlier commits.
//   F3. At most COMMITS_MAX are in flight: one that the disk writes, and one that waits for the
//       disk. The second begins once as many requests wait as the first one contains: fewer, larger
//       commits cost less, but an idle disk costs more.
//   F4. Nothing begins behind a commit that changes objects. Reads of objects see the store, which
//       does not have those changes yet.

import { assert } from "../../core/assert.ts";
import type { EpochMs } from "../../core/units.ts";
import type { BrokerState } from "../model/broker-state.ts";
import type { AnsweredOperation, PendingOperation } from "./pending-operation.ts";

const COMMITS_MAX = 2;

export interface InFlightCommit {
  /** The state that the batch ran on. The engine may have replaced it since. */
  readonly state: BrokerState;
  readonly now: EpochMs;
  readonly operations: readonly PendingOperation[];
  readonly answered: readonly AnsweredOperation[];
  /** Whether it changed objects (F4). */
  readonly changedObjects: boolean;
  /** Whether a turn of the event loop has passed since it began. */
  turned: boolean;
}

interface Entry {
  readonly commit: InFlightCommit;
  ended: boolean;
  failure: { readonly error: unknown } | null;
}

export class InFlightCommits {
  readonly #inFlight: Entry[] = [];
  readonly #onComplete: (commit: InFlightCommit, failure: Entry["failure"]) => void;

  constructor(onComplete: (commit: InFlightCommit, failure: Entry["failure"]) => void) {
    this.#onComplete = onComplete;
  }

  get count(): number {
    return this.#inFlight.length;
  }

  /** Whether another commit may begin while this many requests wait. */
  takesAnother(waiting: number): boolean {
    const last = this.#inFlight.at(-1);
    if (last === undefined) return true;
    if (last.failure !== null) return false; // F2
    if (this.#inFlight.length >= COMMITS_MAX || last.commit.changedObjects) return false; // F4
    return waiting >= Math.max(1, last.commit.operations.length); // F3
  }

  /** `durable` settles when the commit has ended. */
  begin(commit: InFlightCommit, durable: Promise<void>): void {
    const last = this.#inFlight.at(-1);
    assert(this.#inFlight.length < COMMITS_MAX, "at most two commits are in flight (F3)");
    assert(last?.commit.changedObjects !== true, "no commit follows one of objects (F4)");
    const entry: Entry = { commit, ended: false, failure: last?.failure ?? null }; // F2
    this.#inFlight.push(entry);
    durable.then(
      () => this.#end(entry),
      (error: unknown) => {
        const at = this.#inFlight.indexOf(entry);
        assert(at >= 0, "a commit is in flight until it has ended (F1)");
        for (const each of this.#inFlight.slice(at)) each.failure ??= { error }; // F2
        this.#end(entry);
      },
    );
  }

  #end(entry: Entry): void {
    assert(!entry.ended, "a commit ends once (F1)");
    entry.ended = true;
    for (;;) {
      const first = this.#inFlight[0];
      if (first === undefined || !first.ended) return;
      this.#inFlight.shift(); // F1
      this.#onComplete(first.commit, first.failure);
    }
  }
}
