// Consumer host: supervises one consumer of the world. It starts the consumer and restarts it after
// a crash.
//   H1. Every incarnation has its own owner name, as every process does.
//   H2. A lease renewer on its own thread keeps running while the event loop is stalled.

import { createSeededRandom } from "../../core/seeded-random.ts";
import type { Consumer } from "../../ingest/running/consumer.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Sink } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { hiddenValuesIn } from "../hidden-value.ts";
import { createSimArchive } from "../ports/sim-archive.ts";
import { createSimObjects } from "../ports/sim-bucket.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimObjectsSink } from "../ports/sim-objects-sink.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { createSimIdempotentSink, createSimTransactionalSink } from "../ports/sim-sink.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import { tablesPipelines } from "../tables/tables-pipeline.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools, WorldParts } from "../world-parts.ts";
import { type HostClock, SimProcess } from "./process.ts";

const RESTART_MS_MIN = 500;
const RESTART_MS_SPREAD = 60_000;

export interface ConsumerHostOptions {
  readonly name: string;
  readonly seed: number;
  readonly topology: Topology;
  readonly parts: WorldParts;
  readonly planOf: HandlerTools["planOf"];
  readonly lateMsOf: HandlerTools["lateMsOf"];
  /** Which queue it reads. Default: "queue". */
  readonly source?: "queue" | "lateQueue";
}

export class ConsumerHost {
  readonly name: string;
  readonly hostClock: HostClock = { aheadMs: 0 };
  readonly #services: WorldServices;
  readonly #options: ConsumerHostOptions;
  #incarnation = 0;
  #process: SimProcess | null = null;
  #renewerProcess: SimProcess | null = null;
  #consumer: Consumer | null = null;

  constructor(services: WorldServices, options: ConsumerHostOptions) {
    this.#services = services;
    this.#options = options;
    this.name = options.name;
  }

  get consumer(): Consumer | null {
    return this.#consumer;
  }

  get processes(): readonly SimProcess[] {
    return [this.#process, this.#renewerProcess].filter((each) => each !== null);
  }

  /** Starts the next incarnation, unless the consumer is running. */
  start(): void {
    if (this.#process?.alive) return;
    this.#incarnation += 1; // H1
    const { scheduler, history } = this.#services;
    const { topology } = this.#options;
    history.add(this.name, { kind: "process", what: `starts (incarnation ${this.#incarnation})` });
    const onCrash = (_: SimProcess, word: number) => this.#crashed(word);
    const process = new SimProcess(this.name, scheduler, onCrash, this.hostClock);
    const onThread = topology.leaseRenewer === "thread";
    // Faults are drawn by this name: another name would change the world of every seed.
    const renewerProcess = onThread
      ? new SimProcess(`${this.name}-keeper`, scheduler, onCrash, this.hostClock)
      : process;
    this.#process = process;
    this.#renewerProcess = onThread ? renewerProcess : null;
    this.#services.ports.holders.join(this.processes);
    this.#consumer = this.#createConsumer(process, renewerProcess);
    void this.#begin(process, this.#consumer);
  }

  /** A consumer that cannot start, because the ledger is down, is restarted as after a crash. */
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

  /** Stalls the event loop; a lease renewer on its own thread keeps running (H2). */
  stallLoop(): void {
    this.#process?.freeze();
  }

  thaw(): void {
    for (const process of this.processes) process.thaw();
  }

  skew(ms: number): void {
    for (const process of this.processes) process.skewMs = ms;
  }

  /** Drains the consumer and starts it again. */
  async drain(): Promise<void> {
    const process = this.#process;
    if (process === null || !process.alive) return;
    this.#services.history.add(this.name, { kind: "process", what: "starts to drain" });
    await this.#consumer?.drain();
    for (const each of this.processes) each.kill();
    this.#services.history.add(this.name, { kind: "process", what: "has drained" });
    if (this.#process === process) this.start();
  }

  #crashed(word: number): void {
    for (const process of this.processes) process.kill();
    this.#consumer = null;
    const { scheduler, history } = this.#services;
    history.add(this.name, { kind: "process", what: "crashes" });
    const afterMs = RESTART_MS_MIN + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(this.name), () => this.start());
  }

  #createConsumer(process: SimProcess, renewerProcess: SimProcess): Consumer {
    const { parts, topology, seed, planOf, lateMsOf, source = "queue" } = this.#options;
    const services = this.#services;
    const { ports, endpoints, history } = services;
    const work = { service: endpoints.queue, role: "work" } as const;
    const dead = { service: endpoints["dead-letters"], role: "dead-letters" } as const;
    const ledgerOptions = {
      service: endpoints.ledger,
      time: topology.ledgerTime,
      caller: services.ledgerCaller,
      remotePauses: services.pauses,
    };
    const from = services[source];
    const queue = createSimQueue(ports, process, from, work);
    const ledger = createSimLedger(ports, process, services.ledger, ledgerOptions);
    const { tables } = services;
    const createPipeline =
      tables === null ? parts.createPipeline : tablesPipelines(tables, ports.names);
    const pipeline = createPipeline({
      actor: this.name,
      clock: process.clock,
      topology,
      planOf,
      handling: (name, attempt, fence, lane) =>
        history.add(this.name, { kind: "handling", name, attempt, fence, lane }),
      drew: (name, fence, values) =>
        history.add(this.name, { kind: "drew", name, fence, replayed: false, values }),
      ...(topology.archive === true && { read: this.#read }),
      lateMsOf,
      driftMsOf: services.driftMsOf,
    });
    const renewer = parts.createLeaseRenewer(
      {
        queue: createSimQueue(ports, renewerProcess, from, work),
        ledger: createSimLedger(ports, renewerProcess, services.ledger, ledgerOptions),
        scope: SCOPE,
        clock: renewerProcess.clock,
        telemetry: SILENT,
      },
      { visibilityMs: pipeline.visibilityMs, leaseMs: pipeline.visibilityMs },
    );
    return parts.createConsumer(
      {
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${this.name} ${this.#incarnation}`),
        queue,
        deadLetters: createSimQueue(ports, process, services.deadLetters, dead),
        lateQueue: this.#lateQueue(process),
        ledger,
        objects: createSimObjects(ports, process, services.bucket, endpoints.objects),
        rows: tables === null ? null : createRowReader(process),
        sink: this.#sink(process),
        archive: this.#archive(process, pipeline),
        renewer: process === renewerProcess ? renewer : onOwnThread(process, renewer),
        telemetry: this.#telemetry(),
      },
      { pipeline, owner: `${this.name}#${this.#incarnation}`, runId: `run-${this.#incarnation}` },
    );
  }

  #sink(process: SimProcess): Sink {
    const { ports, endpoints, tables, table, results } = this.#services;
    const { sink, objectsSink } = this.#options.topology;
    if (tables !== null) return tables.memory.sink;
    if (sink === "transactional") return createSimTransactionalSink();
    return objectsSink
      ? createSimObjectsSink(ports, process, results, endpoints.sink)
      : createSimIdempotentSink(ports, process, table, endpoints.sink);
  }

  readonly #read = (name: string, content: string): void => {
    this.#services.history.add(this.name, { kind: "read", name, replayed: false, content });
  };

  #archive(process: SimProcess, { archive: settings }: Pipeline): MessageArchive | null {
    const { ports, endpoints, archive } = this.#services;
    const { createMessageArchive: create } = this.#options.parts;
    if (settings === null) return null;
    const { prefix } = settings;
    return createSimArchive(ports, process, {
      archive,
      service: endpoints.archive,
      create,
      prefix,
    });
  }

  #lateQueue(process: SimProcess): Queue | null {
    const { ports, endpoints, lateQueue } = this.#services;
    if (this.#options.topology.late !== "queue") return null;
    const options = { service: endpoints["late-queue"], role: "late" } as const;
    return createSimQueue(ports, process, lateQueue, options);
  }

  #telemetry(): Telemetry {
    return {
      ...SILENT,
      gauge: (name, value) => {
        if (name !== CONSUMER_METRICS.breakerOpen.name) return;
        this.#services.history.add(this.name, { kind: "breaker", open: value === 1 });
      },
      log: (_level, message, fields = {}) => {
        const { refused, masked = 0 } = this.#options.topology;
        if (refused === 0 && masked === 0) return;
        for (const value of hiddenValuesIn(`${message} ${Object.values(fields).join(" ")}`)) {
          this.#services.history.add(this.name, { kind: "exposed", ...value, where: "a log" });
        }
      },
    };
  }
}

/** A lease renewer on another thread: its callbacks wait for the event loop of `process`. */
function onOwnThread(process: SimProcess, renewer: LeaseRenewer): LeaseRenewer {
  return {
    track: (lease, onLost) => renewer.track(lease, (why) => process.dispatch(() => onLost(why))),
    attach: (receipt, claim, since) => renewer.attach(receipt, claim, since),
    detach: (receipt, claim) => renewer.detach(receipt, claim),
    release: (receipt) => renewer.release(receipt),
    alive: (receipt) => renewer.alive(receipt),
    close: () => renewer.close(),
  };
}
