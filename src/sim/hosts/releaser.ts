// Releaser: the operator's `tidegate late release`, as a process of its own, which meets the faults
// of every call and may crash at any of them. The next one continues.

import { releaseHeld } from "../../ingest/late/release.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import { SimProcess } from "./process.ts";

export class Releaser {
  readonly #services: WorldServices;
  readonly #topology: Topology;
  #runs = 0;
  #process: SimProcess | null = null;

  constructor(services: WorldServices, topology: Topology) {
    this.#services = services;
    this.#topology = topology;
  }

  get busy(): boolean {
    return this.#process?.alive === true;
  }

  /** Releases everything that is held, unless a release is in progress. */
  release(): void {
    if (this.busy) return;
    this.#runs += 1;
    const { scheduler } = this.#services;
    const process = new SimProcess(`releaser-${this.#runs}`, scheduler, () => {});
    this.#process = process;
    void this.#run(process).finally(() => process.kill());
  }

  async #run(process: SimProcess): Promise<void> {
    const { ports, queue, ledger, endpoints, ledgerCaller } = this.#services;
    const source = createSimQueue(ports, process, queue, {
      service: endpoints.queue,
      role: "release",
    });
    const own = createSimLedger(ports, process, ledger, {
      service: endpoints.ledger,
      time: this.#topology.ledgerTime,
      caller: ledgerCaller,
    });
    const releasing = releaseHeld(
      { clock: process.clock, ledger: own, source },
      { scope: SCOPE, runId: process.name },
    );
    try {
      for await (const _event of releasing);
    } catch {
      // The ledger was down; the next release continues.
    }
  }
}
