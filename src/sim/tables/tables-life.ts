// Tables life: what happens to the tables of a world, beside the records that fill them: redrives
// of quarantined rows, the repair of the schema, sweeps, and the looks of the checkers.
//   L1. After everything has drained, the tables are looked at. Then the schema is repaired, and
//       everything in quarantine is redriven, until nothing is left.

import { hashText } from "../faults/named-random.ts";
import { START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import { QuarantineRedriver } from "./quarantine-redriver.ts";
import type { SimTables } from "./sim-tables.ts";
import { sweepStages } from "./stage-sweeper.ts";

export class TablesLife {
  readonly #services: WorldServices;
  readonly #tables: SimTables;
  readonly #topology: Topology;
  readonly #redriver: QuarantineRedriver;
  #looked = false;

  constructor(
    services: WorldServices,
    tables: SimTables,
    { topology }: { readonly topology: Topology },
  ) {
    this.#services = services;
    this.#tables = tables;
    this.#topology = topology;
    this.#redriver = new QuarantineRedriver(services, topology);
  }

  start(faultyMs: number): void {
    const { redrives, repairAt } = this.#tables.topology;
    sweepStages(this.#services, this.#tables, this.#topology);
    for (let nth = 1; nth <= redrives; nth += 1) {
      this.#at((faultyMs * nth) / (redrives + 1), () => this.#redriver.redrive());
    }
    if (repairAt < 1) {
      this.#at(faultyMs * repairAt, () => {
        this.#tables.repaired = true;
      });
    }
  }

  #at(ms: number, work: () => void): void {
    this.#services.scheduler.at(START_AT + Math.floor(ms), hashText("tables"), work);
  }

  /** Called when the queue has drained: whether nothing remains to be done (L1). */
  async isSettled(): Promise<boolean> {
    if (this.#redriver.busy) return false;
    if (!this.#looked) {
      this.#looked = true;
      await this.#look("drained");
      this.#tables.repaired = true;
    }
    if ((await this.#tables.quarantined(this.#services.ledger)).length === 0) return true;
    this.#redriver.redrive();
    return false;
  }

  end(): Promise<void> {
    return this.#look("end");
  }

  #look(phase: "drained" | "end"): Promise<void> {
    const { ledger, scheduler } = this.#services;
    return this.#tables.look(phase, ledger, scheduler.now);
  }
}
