// Unsteady times: an event time function that gives another time at every call, as one does that
// reads a tag, a clock or a changed table. The ledger's recorded event time must protect a record.
//   U1. The times are older than the true one, never newer: the watermark may not run ahead.
//   U2. Never in the live pipeline of worlds with tables, whose model elects rows by true times.

import type { Topology } from "../topology.ts";
import { createNamedDice } from "./named-random.ts";

const DRIFT_MS_MAX = 60_000;

/** How much older a record seems at each call for its name. */
export function createDrift(seed: number, topology: Topology): (name: string) => number {
  if (topology.unsteadyTimes !== true || topology.tables !== undefined) return () => 0; // U2
  const dice = createNamedDice(seed, "unsteady times");
  const calls = new Map<string, number>();
  return (name) => {
    const call = (calls.get(name) ?? 0) + 1;
    calls.set(name, call);
    return dice.whole(`${name} ${call}`, 0, DRIFT_MS_MAX); // U1
  };
}
