// Quarantine redriver: the operator's `tidegate quarantine redrive`, as a process of its own, which
// meets the faults of every call and may crash at any of them. The next one continues.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs } from "../../core/units.ts";
import { redriveBody, redriveIdentity } from "../../ingest/quarantine/quarantine.ts";
import {
  type QuarantinedSet,
  quarantinedSets,
  redriveSets,
} from "../../ingest/quarantine/quarantine-access.ts";
import { SimProcess } from "../hosts/process.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { originOf, redriveName } from "../record-names.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";

/** Enough to tell the sets of one record apart. */
const SET_CHARS = 6;

export class QuarantineRedriver {
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

  /** Redrives everything in quarantine, unless a redrive is in progress. */
  redrive(): void {
    if (this.busy) return;
    this.#runs += 1;
    const { scheduler } = this.#services;
    const process = new SimProcess(`redriver-${this.#runs}`, scheduler, () => {});
    this.#process = process;
    void this.#run(process).finally(() => process.kill());
  }

  async #run(process: SimProcess): Promise<void> {
    const { ports, queue, ledger: inner, endpoints, ledgerCaller: caller } = this.#services;
    const work = { service: endpoints.queue, role: "work" } as const;
    const { ledgerTime: time } = this.#topology;
    const ledger = createSimLedger(ports, process, inner, {
      service: endpoints.ledger,
      time,
      caller,
    });
    const redrivePorts = {
      clock: process.clock,
      random: createSeededRandom(process.name),
      ledger,
      queue: createSimQueue(ports, process, queue, work),
    };
    try {
      const sets: QuarantinedSet[] = [];
      for await (const set of quarantinedSets(ledger, SCOPE)) sets.push(set);
      for (const set of sets) this.#name(set);
      const redriving = redriveSets(redrivePorts, SCOPE, sets, { followMs: durationMs(0) });
      for await (const _event of redriving);
    } catch {
      // The ledger or the queue was down; the next redrive continues.
    }
  }

  #name({ ref, facts }: QuarantinedSet): void {
    const { names } = this.#services.ports;
    const of = originOf(names.ofKey(ref.of));
    const name = redriveName(of, ref.set.slice(0, SET_CHARS));
    names.add(redriveIdentity(ref), name, redriveBody(facts.event, ref));
  }
}
