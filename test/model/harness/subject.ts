// Subject: a broker under test together with its disk, which outlives it.

import type { Broker } from "../../../src/broker/engine/broker.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import {
  createRefDisk,
  createReferenceBroker,
  type PlantedBug,
  type RefDisk,
} from "../reference/reference-broker.ts";

export interface Subject {
  /** Opens a broker on the disk as it is. */
  open(clock: Clock): Promise<Broker>;
  /** Simulates a power failure: later writes of the current broker do not reach the disk. */
  cutPower(): void;
}

/** The reference itself, optionally with a planted bug. */
export function createReferenceSubject(bug: PlantedBug = {}): Subject {
  let disk: RefDisk = createRefDisk();
  return {
    async open(clock) {
      disk = { ...disk, dead: false };
      return createReferenceBroker(disk, clock, bug);
    },
    cutPower() {
      disk.dead = true;
    },
  };
}
