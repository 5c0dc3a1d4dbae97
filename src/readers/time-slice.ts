// Time slice: returns to the event loop after a few milliseconds of continuous reading, so that
// timers, heartbeats and signals run while an object is read.
//   TS1. Readers ask between small pieces of work. Asking reads a clock; only the end of a slice
//        costs a turn of the event loop.
//   TS2. After every turn the signal is checked: an abort ends the reading within one slice.
//   TS3. Work of the caller between two rows counts too, because it blocks the same event loop.

import { type DurationMs, durationMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Turn } from "../ports/turn.ts";

/** The clock is a real one, even under a virtual clock: it measures work, not waiting. */
export interface ReaderPorts {
  readonly clock: Pick<Clock, "monotonic">;
  readonly turn: Turn;
}

/** Short enough for every timer, long enough for the cost of a turn to vanish. */
export const TIME_SLICE_MS: DurationMs = durationMs(8);

/** Rows between two questions whether the slice is over. */
export const TIME_SLICE_ROWS = 32;

export class TimeSlice {
  readonly #ports: ReaderPorts;
  readonly #signal: AbortSignal;
  #start: number;

  constructor(ports: ReaderPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    this.#start = ports.clock.monotonic();
  }

  isOver(): boolean {
    return this.#ports.clock.monotonic() - this.#start >= TIME_SLICE_MS; // TS1
  }

  /** Waits for one turn of the event loop; throws the signal's reason once it is aborted. */
  async next(): Promise<void> {
    this.#signal.throwIfAborted();
    await new Promise<void>((resolve) => this.#ports.turn.afterTurn(resolve));
    this.#signal.throwIfAborted(); // TS2
    this.#start = this.#ports.clock.monotonic();
  }
}

/** The same items, with a turn of the event loop between two of them after each slice. */
export async function* paced<T>(items: AsyncIterable<T>, slice: TimeSlice): AsyncGenerator<T> {
  for await (const item of items) {
    if (slice.isOver()) await slice.next();
    yield item;
  }
}
