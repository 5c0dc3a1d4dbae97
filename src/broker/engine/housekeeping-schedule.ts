// HousekeepingSchedule: when the engine runs the model's housekeeping.
//   H1. Housekeeping runs at most once per HOUSEKEEPING_MS. Running late is harmless, so the next
//       instant is computed once and kept until it passes.
//   H2. A broker in which nothing can expire sets no timer, until a change needs housekeeping
//       again.

import { addMs, durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerState } from "../model/broker-state.ts";
import { hasHousekeeping, nextHousekeepingAt } from "../model/housekeeping.ts";

const HOUSEKEEPING_MS = durationMs(60_000);

export class HousekeepingSchedule {
  #ranAt: EpochMs;
  #nextAt: EpochMs | null = null;
  /** Nothing can expire, and no change since needs housekeeping (H2). */
  #nothingToDo = false;

  constructor(now: EpochMs) {
    this.#ranAt = now;
  }

  /** Forgets what it computed; the state was reloaded. */
  reset(now: EpochMs): void {
    this.#ranAt = epochMs(Math.min(this.#ranAt, now));
    this.#nextAt = null;
    this.#nothingToDo = false;
  }

  isDue(now: EpochMs): boolean {
    return now >= addMs(this.#ranAt, HOUSEKEEPING_MS);
  }

  ranAt(now: EpochMs): void {
    this.#ranAt = now;
  }

  noteChanges(changes: readonly Change[]): void {
    if (this.#nothingToDo) this.#nothingToDo = !changes.some(hasHousekeeping);
  }

  /** The instant to wake up for, or null (H1, H2). */
  nextAt(state: BrokerState, now: EpochMs): EpochMs | null {
    const computed = this.#nextAt !== null && now < this.#nextAt;
    if (computed || this.#nothingToDo) return this.#nextAt;
    const dueAt = nextHousekeepingAt(state);
    const earliest = addMs(this.#ranAt, HOUSEKEEPING_MS);
    this.#nextAt = dueAt === null ? null : epochMs(Math.max(dueAt, earliest));
    this.#nothingToDo = dueAt === null;
    return this.#nextAt;
  }
}
