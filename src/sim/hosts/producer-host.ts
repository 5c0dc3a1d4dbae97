// Producer host: supervises one producer, and stands for the system that its events come from. That
// system submits an event again until it gets a success, unless the topology says `forgetful`.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import { perEntity } from "../../produce/group-strategy.ts";
import type { Producer } from "../../produce/producer.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { hiddenValueOf } from "../hidden-value.ts";
import { createSimOutbox } from "../ports/sim-outbox.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { EVENT_SOURCE, identityOf } from "../record-names.ts";
import { START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { WorkloadItem } from "../workload.ts";
import type { WorldParts } from "../world-parts.ts";
import { type HostClock, SimProcess } from "./process.ts";

const RESTART_MS_MIN = 500;
const RESTART_MS_SPREAD = 30_000;
/** Pause before an event is submitted again; it grows up to the maximum. */
const RETRY_MS = 5_000;
const RETRY_GROWTH = 3;
const RETRY_MS_MAX = 120_000;

export interface ProducerHostOptions {
  readonly name: string;
  readonly seed: number;
  readonly topology: Topology;
  readonly parts: WorldParts;
}

export class ProducerHost {
  readonly name: string;
  readonly hostClock: HostClock = { aheadMs: 0 };
  readonly #services: WorldServices;
  readonly #options: ProducerHostOptions;
  readonly #unconfirmed = new Map<string, WorkloadItem>();
  #incarnation = 0;
  #process: SimProcess | null = null;
  #producer: Producer | null = null;

  constructor(services: WorldServices, options: ProducerHostOptions) {
    this.#services = services;
    this.#options = options;
    this.name = options.name;
  }

  get process(): SimProcess | null {
    return this.#process;
  }

  get unconfirmed(): number {
    return this.#unconfirmed.size;
  }

  start(): void {
    if (this.#process?.alive) return;
    this.#incarnation += 1;
    const { scheduler, history, ports, endpoints } = this.#services;
    const { seed, topology, parts } = this.#options;
    history.add(this.name, { kind: "process", what: `starts (incarnation ${this.#incarnation})` });
    const onCrash = (_: SimProcess, word: number) => this.crashed(word);
    const process = new SimProcess(this.name, scheduler, onCrash, this.hostClock);
    this.#process = process;
    this.#producer = parts.createProducer(
      {
        target: createSimQueue(ports, process, this.#services.queue, {
          service: endpoints.queue,
          role: "work",
        }),
        outbox: createSimOutbox(ports, process, this.#services.outbox, {
          service: endpoints.outbox,
          caller: this.#services.outboxCaller,
        }),
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${this.name} ${this.#incarnation}`),
      },
      {
        owner: this.name,
        ...(topology.fifo && { groups: perEntity(({ payload }) => String(payload.group)) }),
      },
    );
    for (const item of this.#unconfirmed.values()) this.#send(process, item);
  }

  /** Submits an event of the source system. */
  accept(item: WorkloadItem): void {
    const { names } = this.#services.ports;
    names.add(identityOf(item.name), item.name);
    if (this.#options.topology.own) names.addOwn(item.name);
    const { history } = this.#services;
    history.add(this.name, { kind: "timed", name: item.name, eventTime: eventTimeOf(item) });
    this.#unconfirmed.set(item.name, item);
    const process = this.#process;
    process?.dispatch(() => this.#send(process, item));
  }

  kill(word: number): void {
    this.#process?.kill();
    this.crashed(word);
  }

  crashed(word: number): void {
    const { scheduler, history } = this.#services;
    history.add(this.name, { kind: "process", what: "crashes" });
    if (this.#options.topology.forgetful) this.#unconfirmed.clear();
    const afterMs = RESTART_MS_MIN + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(this.name), () => this.start());
  }

  #send(process: SimProcess, item: WorkloadItem, pauseMs = RETRY_MS): void {
    const { name: dedupeKey, group, plan } = item;
    const eventTime = eventTimeOf(item);
    const payload = {
      group,
      ...(plan.refused && { note: hiddenValueOf(dedupeKey, "refused") }),
      ...(plan.masked && { secret: hiddenValueOf(dedupeKey, "masked") }),
    };
    const event = { source: EVENT_SOURCE, dedupeKey, eventTime, payload };
    const again = () => this.#send(process, item, Math.min(pauseMs * RETRY_GROWTH, RETRY_MS_MAX));
    const forget = () => void this.#unconfirmed.delete(item.name);
    this.#producer?.send(event).then(forget, () => {
      if (this.#options.topology.forgetful) forget();
      else void process.clock.sleep(durationMs(pauseMs)).then(again);
    });
  }
}

function eventTimeOf({ atMs, lateMs }: WorkloadItem): EpochMs {
  return epochMs(START_AT + atMs - lateMs);
}
