// Producer host: looks after one producer, and stands for the system it gets its events from: what
// that system has not heard a success of, it hands over again, unless the topology says that it
// forgets.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import { perEntity } from "../../produce/group-strategy.ts";
import type { Producer } from "../../produce/producer.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { createSimOutbox } from "../ports/sim-outbox.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { EVENT_SOURCE, identityOf } from "../record-names.ts";
import { START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { WorkloadItem } from "../workload.ts";
import type { WorldParts } from "../world-parts.ts";
import { SimProcess } from "./process.ts";

const RESTART_MS_MIN = 500;
const RESTART_MS_SPREAD = 30_000;
/** The pause before an event is handed over again; it grows up to the most. */
const SEND_AGAIN_MS = 5_000;
const SEND_AGAIN_GROWTH = 3;
const SEND_AGAIN_MS_MAX = 120_000;

export interface ProducerHostOptions {
  readonly name: string;
  readonly seed: number;
  readonly topology: Topology;
  readonly parts: WorldParts;
}

export class ProducerHost {
  readonly name: string;
  readonly #stage: WorldServices;
  readonly #options: ProducerHostOptions;
  readonly #unconfirmed = new Map<string, WorkloadItem>();
  #life = 0;
  #process: SimProcess | null = null;
  #producer: Producer | null = null;

  constructor(stage: WorldServices, options: ProducerHostOptions) {
    this.#stage = stage;
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
    this.#life += 1;
    const { scheduler, history, ports, services } = this.#stage;
    const { seed, topology, parts } = this.#options;
    history.add(this.name, { kind: "process", what: `starts (life ${this.#life})` });
    const process = new SimProcess(this.name, scheduler, (_, word) => this.crashed(word));
    this.#process = process;
    this.#producer = parts.createProducer(
      {
        target: createSimQueue(ports, process, this.#stage.queue, {
          service: services.queue,
          role: "work",
        }),
        outbox: createSimOutbox(ports, process, this.#stage.outbox, services.outbox),
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${this.name} ${this.#life}`),
      },
      {
        owner: this.name,
        ...(topology.fifo && { groups: perEntity(({ payload }) => String(payload.group)) }),
      },
    );
    for (const item of this.#unconfirmed.values()) this.#send(process, item);
  }

  /** The source has an event for it. */
  hand(item: WorkloadItem): void {
    this.#stage.ports.names.teach(identityOf(item.name), item.name);
    this.#unconfirmed.set(item.name, item);
    const process = this.#process;
    process?.hear(() => this.#send(process, item));
  }

  kill(word: number): void {
    this.#process?.kill();
    this.crashed(word);
  }

  crashed(word: number): void {
    const { scheduler, history } = this.#stage;
    history.add(this.name, { kind: "process", what: "dies" });
    if (this.#options.topology.forgetful) this.#unconfirmed.clear();
    const afterMs = RESTART_MS_MIN + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(this.name), () => this.start());
  }

  #send(process: SimProcess, item: WorkloadItem, pauseMs = SEND_AGAIN_MS): void {
    const { name: dedupeKey, atMs, group } = item;
    const eventTime = epochMs(START_AT + atMs);
    const event = { source: EVENT_SOURCE, dedupeKey, eventTime, payload: { group } };
    const again = () =>
      this.#send(process, item, Math.min(pauseMs * SEND_AGAIN_GROWTH, SEND_AGAIN_MS_MAX));
    const forget = () => void this.#unconfirmed.delete(item.name);
    this.#producer?.send(event).then(forget, () => {
      if (this.#options.topology.forgetful) forget();
      else void process.clock.sleep(durationMs(pauseMs)).then(again);
    });
  }
}
