// Relay host: supervises the relay, which sends rows that producers registered but never sent.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { createSimOutbox } from "../ports/sim-outbox.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import type { WorldServices } from "../services.ts";
import type { WorldParts } from "../world-parts.ts";
import { type HostClock, SimProcess } from "./process.ts";

const RESTART_MS_SPREAD = 60_000;
const NAME = "relay";

export class RelayHost {
  readonly name = NAME;
  readonly hostClock: HostClock = { aheadMs: 0 };
  readonly #services: WorldServices;
  readonly #options: { readonly seed: number; readonly parts: WorldParts };
  #incarnation = 0;
  #process: SimProcess | null = null;

  constructor(
    services: WorldServices,
    options: { readonly seed: number; readonly parts: WorldParts },
  ) {
    this.#services = services;
    this.#options = options;
  }

  get process(): SimProcess | null {
    return this.#process;
  }

  start(): void {
    if (this.#process?.alive) return;
    this.#incarnation += 1;
    const { scheduler, history, ports, endpoints, queue, outbox } = this.#services;
    const { seed, parts } = this.#options;
    history.add(NAME, { kind: "process", what: `starts (incarnation ${this.#incarnation})` });
    const onCrash = (_: SimProcess, word: number) => this.#crashed(word);
    const process = new SimProcess(NAME, scheduler, onCrash, this.hostClock);
    this.#process = process;
    ports.holders.join([process]);
    const relay = parts.createRelay(
      {
        target: createSimQueue(ports, process, queue, { service: endpoints.queue, role: "work" }),
        outbox: createSimOutbox(ports, process, outbox, {
          service: endpoints.outbox,
          caller: this.#services.outboxCaller,
        }),
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${NAME} ${this.#incarnation}`),
      },
      { owner: NAME },
    );
    void relay.run(new AbortController().signal);
  }

  kill(word: number): void {
    this.#process?.kill();
    this.#crashed(word);
  }

  #crashed(word: number): void {
    const { scheduler, history } = this.#services;
    history.add(NAME, { kind: "process", what: "crashes" });
    const afterMs = 500 + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(NAME), () => this.start());
  }
}
