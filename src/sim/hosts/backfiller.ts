// Backfiller: `tidegate backfill` as a process of its own, which meets the faults of every call and
// may crash at any of them. The next one continues.

import { eventOf } from "../../backfill/listed-event.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs } from "../../core/units.ts";
import { createBatchRunner } from "../../ingest/running/batch-runner.ts";
import { INERT_WATERMARK } from "../../ingest/running/inert-watermark.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import { BUCKET, createSimLister, createSimObjects } from "../ports/sim-bucket.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { createSimIdempotentSink, createSimTransactionalSink } from "../ports/sim-sink.ts";
import { listedName } from "../record-names.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools, WorldParts } from "../world-parts.ts";
import { SimProcess } from "./process.ts";

export interface BackfillerOptions {
  readonly seed: number;
  readonly topology: Topology;
  readonly parts: WorldParts;
  readonly planOf: HandlerTools["planOf"];
}

export class Backfiller {
  readonly #services: WorldServices;
  readonly #options: BackfillerOptions;
  #runs = 0;
  #process: SimProcess | null = null;

  constructor(services: WorldServices, options: BackfillerOptions) {
    this.#services = services;
    this.#options = options;
  }

  get busy(): boolean {
    return this.#process?.alive === true;
  }

  /** Starts a backfill, unless one is in progress. */
  start(): void {
    if (this.busy) return;
    this.#runs += 1;
    const { scheduler } = this.#services;
    const process = new SimProcess(`backfill-${this.#runs}`, scheduler, () => {});
    this.#process = process;
    void this.#run(process).finally(() => process.kill());
  }

  async #run(process: SimProcess): Promise<void> {
    const { parts } = this.#options;
    const runner = this.#runner(process);
    const digests = { codeDigest: "sim", configDigest: "sim", environment: "{}" };
    const request = { bucket: BUCKET, prefix: "", since: null, until: null, versions: false };
    try {
      await parts.runBackfill(
        {
          clock: process.clock,
          ledger: this.#ledger(process),
          lister: this.#lister(process),
          runner,
        },
        {
          scope: SCOPE,
          request,
          runId: process.name,
          digests,
          rate: null,
          dryRun: false,
          batchMs: durationMs(this.#options.topology.timeoutMs),
        },
        new AbortController().signal,
      );
    } catch {
      // The bucket or the ledger was down; the next backfill continues.
    } finally {
      runner.close();
    }
  }

  /** Names every listed object, so that the history can speak of it. */
  #lister(process: SimProcess) {
    const { ports, bucket, endpoints, history } = this.#services;
    const lister = createSimLister(ports, process, bucket, endpoints.objects);
    return {
      async list(...call: Parameters<typeof lister.list>) {
        const page = await lister.list(...call);
        for (const object of page.objects) {
          const event = eventOf(BUCKET, object);
          const name = listedName(event);
          ports.names.add(event.event_key, name);
          history.add(process.name, { kind: "listed", name, of: bucket.nameOf(object) });
        }
        return page;
      },
    };
  }

  #ledger(process: SimProcess) {
    const { ports, ledger, endpoints, ledgerCaller, pauses: remotePauses } = this.#services;
    const { ledgerTime: time } = this.#options.topology;
    const options = { service: endpoints.ledger, time, caller: ledgerCaller, remotePauses };
    return createSimLedger(ports, process, ledger, options);
  }

  #runner(process: SimProcess) {
    const { topology, seed } = this.#options;
    const { ports, endpoints, deadLetters, bucket, table, queue } = this.#services;
    const dead = { service: endpoints["dead-letters"], role: "dead-letters" } as const;
    return createBatchRunner(
      {
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${process.name}`),
        queue: { name: queue.name, fifo: false },
        deadLetters: createSimQueue(ports, process, deadLetters, dead),
        ledger: this.#ledger(process),
        objects: createSimObjects(ports, process, bucket, endpoints.objects),
        rows: null,
        sink:
          topology.sink === "transactional"
            ? createSimTransactionalSink()
            : createSimIdempotentSink(ports, process, table, endpoints.sink),
        telemetry: SILENT,
      },
      {
        pipeline: this.#pipeline(process),
        owner: process.name,
        runId: process.name,
        watermark: INERT_WATERMARK,
      },
    );
  }

  #pipeline(process: SimProcess): Pipeline {
    const { parts, topology, planOf } = this.#options;
    const { history } = this.#services;
    return parts.createPipeline({
      actor: process.name,
      clock: process.clock,
      topology,
      planOf,
      lateMsOf: () => 0,
      handling: (name, attempt, fence, lane) =>
        history.add(process.name, { kind: "handling", name, attempt, fence, lane }),
      drew: (name, fence, values) =>
        history.add(process.name, { kind: "drew", name, fence, replayed: false, values }),
      driftMsOf: () => 0,
    });
  }
}
