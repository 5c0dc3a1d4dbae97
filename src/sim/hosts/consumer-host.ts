// Consumer host: looks after one consumer of the world: starts it, lets it die, starts the next.
//   H1. Every life has an owner name of its own, as processes have.
//   H2. A keeper of leases on a thread of its own goes on while the loop stands still.

import { createSeededRandom } from "../../core/seeded-random.ts";
import type { Consumer } from "../../ingest/running/consumer.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { createSimObjects } from "../ports/sim-bucket.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { createSimIdempotentSink, createSimTransactionalSink } from "../ports/sim-sink.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools, WorldParts } from "../world-parts.ts";
import { SimProcess } from "./process.ts";

const RESTART_MS_MIN = 500;
const RESTART_MS_SPREAD = 60_000;

export interface ConsumerHostOptions {
  readonly name: string;
  readonly seed: number;
  readonly topology: Topology;
  readonly parts: WorldParts;
  readonly planOf: HandlerTools["planOf"];
}

export class ConsumerHost {
  readonly name: string;
  readonly #stage: WorldServices;
  readonly #options: ConsumerHostOptions;
  #life = 0;
  #process: SimProcess | null = null;
  #keeperProcess: SimProcess | null = null;
  #consumer: Consumer | null = null;

  constructor(stage: WorldServices, options: ConsumerHostOptions) {
    this.#stage = stage;
    this.#options = options;
    this.name = options.name;
  }

  get consumer(): Consumer | null {
    return this.#consumer;
  }

  get processes(): readonly SimProcess[] {
    return [this.#process, this.#keeperProcess].filter((each) => each !== null);
  }

  /** Begins the next life, unless one is under way. */
  start(): void {
    if (this.#process?.alive) return;
    this.#life += 1; // H1
    const { scheduler, history } = this.#stage;
    const { topology } = this.#options;
    history.add(this.name, { kind: "process", what: `starts (life ${this.#life})` });
    const onCrash = (_: SimProcess, word: number) => this.#crashed(word);
    const process = new SimProcess(this.name, scheduler, onCrash);
    const apart = topology.keeper === "thread";
    const keeperProcess = apart
      ? new SimProcess(`${this.name}-keeper`, scheduler, onCrash)
      : process;
    this.#process = process;
    this.#keeperProcess = apart ? keeperProcess : null;
    this.#consumer = this.#createConsumer(process, keeperProcess);
    void this.#begin(process, this.#consumer);
  }

  /** A ledger that is down when a consumer starts makes it try again, as a supervisor would. */
  async #begin(process: SimProcess, consumer: Consumer): Promise<void> {
    await consumer.start().catch(() => process.crash(hashText("start failed")));
  }

  kill(word: number): void {
    for (const process of this.processes) process.kill();
    this.#crashed(word);
  }

  freeze(): void {
    for (const process of this.processes) process.freeze();
  }

  /** The event loop stands still; a keeper apart does not (H2). */
  stallLoop(): void {
    this.#process?.freeze();
  }

  thaw(): void {
    for (const process of this.processes) process.thaw();
  }

  skew(ms: number): void {
    for (const process of this.processes) process.skewMs = ms;
  }

  /** Stops in good order, and starts again. */
  async drain(): Promise<void> {
    const process = this.#process;
    if (process === null || !process.alive) return;
    this.#stage.history.add(this.name, { kind: "process", what: "is told to drain" });
    await this.#consumer?.drain();
    for (const each of this.processes) each.kill();
    this.#stage.history.add(this.name, { kind: "process", what: "has drained" });
    if (this.#process === process) this.start();
  }

  #crashed(word: number): void {
    for (const process of this.processes) process.kill();
    this.#consumer = null;
    const { scheduler, history } = this.#stage;
    history.add(this.name, { kind: "process", what: "dies" });
    const afterMs = RESTART_MS_MIN + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(this.name), () => this.start());
  }

  #createConsumer(process: SimProcess, keeperProcess: SimProcess): Consumer {
    const { parts, topology, seed, planOf } = this.#options;
    const stage = this.#stage;
    const { ports, services, history } = stage;
    const work = { service: services.queue, role: "work" } as const;
    const dead = { service: services["dead-letters"], role: "dead-letters" } as const;
    const ledgerOptions = {
      service: services.ledger,
      time: topology.ledgerTime,
      caller: stage.ledgerCaller,
    };
    const queue = createSimQueue(ports, process, stage.queue, work);
    const ledger = createSimLedger(ports, process, stage.ledger, ledgerOptions);
    const pipeline = parts.createPipeline({
      actor: this.name,
      clock: process.clock,
      topology,
      planOf,
      handling: (name, attempt, fence) =>
        history.add(this.name, { kind: "handling", name, attempt, fence }),
    });
    const { visibilityMs } = pipeline;
    const keeper = parts.createLeaseRenewer(
      {
        queue: createSimQueue(ports, keeperProcess, stage.queue, work),
        ledger: createSimLedger(ports, keeperProcess, stage.ledger, ledgerOptions),
        scope: SCOPE,
        clock: keeperProcess.clock,
        telemetry: SILENT,
      },
      { visibilityMs, leaseMs: visibilityMs },
    );
    return parts.createConsumer(
      {
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${this.name} ${this.#life}`),
        queue,
        deadLetters: createSimQueue(ports, process, stage.deadLetters, dead),
        ledger,
        objects: createSimObjects(ports, process, stage.bucket, services.objects),
        rows: null,
        sink:
          topology.sink === "transactional"
            ? createSimTransactionalSink()
            : createSimIdempotentSink(ports, process, stage.table, services.sink),
        renewer: process === keeperProcess ? keeper : heardBy(process, keeper),
        telemetry: SILENT,
      },
      { pipeline, owner: `${this.name}#${this.#life}`, runId: `run-${this.#life}` },
    );
  }
}

/** A keeper on another thread: what it has to say waits until the loop listens. */
function heardBy(process: SimProcess, keeper: LeaseRenewer): LeaseRenewer {
  return {
    track: (lease, onLost) => keeper.track(lease, (why) => process.hear(() => onLost(why))),
    attach: (receipt, claim, since) => keeper.attach(receipt, claim, since),
    detach: (receipt, claim) => keeper.detach(receipt, claim),
    release: (receipt) => keeper.release(receipt),
    alive: (receipt) => keeper.alive(receipt),
    close: () => keeper.close(),
  };
}
