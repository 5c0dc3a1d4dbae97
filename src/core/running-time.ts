// Running time: how much time passed between two instants, if some spans between them may not have
// happened.
//   R1. A leap is a span by which a clock jumped. It does not count: what a stamp before it waits
//       for is due that much later.
//   R2. `ago` and `due` are inverse: a span has passed since a stamp once `now` reaches
//       `due(stamp, span)`, and exactly then `ago(now, span)` reaches the stamp.
//   R3. Without leaps, both are plain sums.
//   R4. At most LEAPS_MAX leaps are kept. Two old ones become one that covers the time between them
//       as well, so that things are due later, never earlier.

import { assert } from "./assert.ts";
import { type DurationMs, durationMs, type EpochMs, epochMs } from "./units.ts";

/** A span that may not have happened. */
export interface Leap {
  readonly from: number;
  readonly to: number;
}

const LEAPS_MAX = 16;

export class RunningTime {
  /** Oldest first; they do not overlap. */
  #leaps: readonly Leap[] = [];

  get leaps(): readonly Leap[] {
    return this.#leaps;
  }

  /** The sum of all leaps. */
  get missingMs(): DurationMs {
    return durationMs(this.#leaps.reduce((sum, { from, to }) => sum + to - from, 0));
  }

  /** Adds a leap behind all others. */
  add(leap: Leap): void {
    assert(leap.from < leap.to, "a leap goes forward (R1)");
    assert(leap.from >= (this.#leaps.at(-1)?.to ?? leap.from), "leaps are in order (R1)");
    this.set([...this.#leaps, leap]);
  }

  set(leaps: readonly Leap[]): void {
    const [first, second, ...rest] = leaps;
    if (leaps.length <= LEAPS_MAX || first === undefined || second === undefined) {
      this.#leaps = leaps;
    } else this.set([{ from: first.from, to: second.to }, ...rest]); // R4
  }

  /** The instant since which `span` has passed at `now` (R2). */
  ago(now: EpochMs, span: DurationMs): EpochMs {
    if (this.#leaps.length === 0) return epochMs(now - span); // R3
    let at: number = now;
    let remaining: number = span;
    for (const { from, to } of this.#leaps.toReversed()) {
      const ranMs = at - to;
      if (ranMs < 0) continue; // It comes after `now`.
      if (remaining <= ranMs) break;
      remaining -= ranMs;
      at = from; // R1
    }
    return epochMs(at - remaining);
  }

  /** The instant at which `span` has passed since `stamp` (R2). */
  due(stamp: EpochMs, span: DurationMs): EpochMs {
    let at: number = stamp;
    let remaining: number = span;
    for (const { from, to } of this.#leaps) {
      if (from < at) continue; // It came before the stamp.
      const runsMs = from - at;
      if (remaining < runsMs) break;
      remaining -= runsMs;
      at = to; // R1
    }
    return epochMs(at + remaining);
  }
}
