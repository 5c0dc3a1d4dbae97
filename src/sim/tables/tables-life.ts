// Tables life: what happens to the tables of a world, beside the records that fill them: redrives
// of quarantined rows, replays, the repair of the schema, sweeps, and the looks of the checkers.
//   L1. After everything has drained, the tables are looked at. Then the schema is repaired, and
//       everything in quarantine is redriven, until nothing is left. Replays that waited for it are
//       promoted or dropped, and the last ones end.

import { hashText } from "../faults/named-random.ts";
import { START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools } from "../world-parts.ts";
import { QuarantineRedriver } from "./quarantine-redriver.ts";
import { Replayer } from "./replayer.ts";
import type { SimTables } from "./sim-tables.ts";
import { sweepStages } from "./stage-sweeper.ts";

export class TablesLife {
  readonly #services: WorldServices;
  readonly #tables: SimTables;
  readonly #topology: Topology;
  readonly #redriver: QuarantineRedriver;
  readonly #replayers: readonly Replayer[];
  #looked = false;

  constructor(
    services: WorldServices,
    tables: SimTables,
    options: {
      readonly seed: number;
      readonly topology: Topology;
      readonly lateMsOf: HandlerTools["lateMsOf"];
    },
  ) {
    const { topology } = options;
    this.#services = services;
    this.#tables = tables;
    this.#topology = topology;
    this.#redriver = new QuarantineRedriver(services, topology);
    this.#replayers = Array.from({ length: tables.topology.replays }, (_, at) => {
      return new Replayer(services, tables, { ...options, nth: at + 1 });
    });
  }

  start(faultyMs: number): void {
    const { redrives, repairAt } = this.#tables.topology;
    sweepStages(this.#services, this.#tables, this.#topology);
    for (let nth = 1; nth <= redrives; nth += 1) {
      this.#at((faultyMs * nth) / (redrives + 1), () => this.#redriver.redrive());
    }
    for (const replayer of this.#replayers) {
      this.#at(faultyMs * replayer.startsAt, () => replayer.start());
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
    if ((await this.#tables.quarantined(this.#services.ledger)).length > 0) {
      this.#redriver.redrive();
      return false;
    }
    for (const replayer of this.#replayers) replayer.release();
    return this.#replayers.every(({ done }) => done);
  }

  end(): Promise<void> {
    return this.#look("end");
  }

  #look(phase: "drained" | "end"): Promise<void> {
    const { ledger, scheduler } = this.#services;
    return this.#tables.look(phase, ledger, scheduler.now);
  }
}
