// Stage sweeper: the upkeep of a running pipeline, as far as it removes stages of dead attempts.
// It sweeps while other attempts are in progress, and meets the faults of every call.

import { hashText } from "../faults/named-random.ts";
import { SimProcess } from "../hosts/process.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import type { WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { SimTables } from "./sim-tables.ts";

const EVERY_MS = 300_000;

/** Sweeps until the world ends. */
export function sweepStages(
  services: WorldServices,
  { memory: { sink } }: SimTables,
  { ledgerTime: time }: Topology,
): void {
  const { scheduler, ports, ledger: inner, endpoints, ledgerCaller: caller } = services;
  let sweeps = 0;
  const sweep = () => {
    sweeps += 1;
    const process = new SimProcess(`sweeper-${sweeps}`, scheduler, () => {});
    const options = { service: endpoints.ledger, time, caller };
    const { sinkStore } = createSimLedger(ports, process, inner, options);
    if (sinkStore === null) return;
    // What a failed sweep leaves, the next one removes.
    const swept = sink.sweepStages?.(sinkStore, process.clock.now());
    void swept?.catch(() => undefined).then(() => process.kill());
    scheduler.after(EVERY_MS, hashText("sweeper"), sweep);
  };
  scheduler.after(EVERY_MS, hashText("sweeper"), sweep);
}
