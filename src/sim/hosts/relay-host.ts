// Relay host: looks after the relay, which sends what producers registered and never sent.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { createSimOutbox } from "../ports/sim-outbox.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import type { WorldServices } from "../services.ts";
import type { WorldParts } from "../world-parts.ts";
import { SimProcess } from "./process.ts";

const RESTART_MS_SPREAD = 60_000;
const NAME = "relay";

export class RelayHost {
  readonly name = NAME;
  readonly #stage: WorldServices;
  readonly #options: { readonly seed: number; readonly parts: WorldParts };
  #life = 0;
  #process: SimProcess | null = null;

  constructor(
    stage: WorldServices,
    options: { readonly seed: number; readonly parts: WorldParts },
  ) {
    this.#stage = stage;
    this.#options = options;
  }

  get process(): SimProcess | null {
    return this.#process;
  }

  start(): void {
    if (this.#process?.alive) return;
    this.#life += 1;
    const { scheduler, history, ports, services, queue, outbox } = this.#stage;
    const { seed, parts } = this.#options;
    history.add(NAME, { kind: "process", what: `starts (life ${this.#life})` });
    const process = new SimProcess(NAME, scheduler, (_, word) => this.#crashed(word));
    this.#process = process;
    const relay = parts.createRelay(
      {
        target: createSimQueue(ports, process, queue, { service: services.queue, role: "work" }),
        outbox: createSimOutbox(ports, process, outbox, services.outbox),
        clock: process.clock,
        turn: process.turn,
        random: createSeededRandom(`${seed} ${NAME} ${this.#life}`),
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
    const { scheduler, history } = this.#stage;
    history.add(NAME, { kind: "process", what: "dies" });
    const afterMs = 500 + (mixWords(word, 5) % RESTART_MS_SPREAD);
    scheduler.after(afterMs, hashText(NAME), () => this.start());
  }
}
