// Opened store: the setup and teardown of every store contract test.

import { afterEach, beforeEach } from "vitest";
import type { EpochMs } from "../../../src/core/units.ts";
import { createManualClock, type ManualClock } from "../manual-clock.ts";

interface Opened<S> {
  readonly store: S;
  /** Opens the same data a second time. */
  again(): Promise<S>;
}

/** Binds a contract to a store. */
export interface StoreBinding<S> {
  readonly name: string;
  /** Opens an empty store on the given clock. */
  open(clock: ManualClock): Promise<Opened<S>>;
}

/** Opens a store before each test and passes it to `use`; closes everything after the test. */
export function openBeforeEach<S extends { close(): Promise<void> }>(
  { open }: StoreBinding<S>,
  start: EpochMs,
  use: (opened: Opened<S> & { readonly clock: ManualClock }) => void,
): void {
  const opened: S[] = [];
  beforeEach(async () => {
    const clock = createManualClock(start);
    const { store, again } = await open(clock);
    const opening = async () => {
      const second = await again();
      opened.push(second);
      return second;
    };
    opened.push(store);
    use({ clock, store, again: opening });
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
}
