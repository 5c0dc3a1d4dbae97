// Poller host: supervises a poller, which registers batches of jobs, checks them, and sweeps.
//   P1. The system behind it knows the jobs of a batch and has it registered until that succeeds.
//   P2. Every check looks at all batches of the outbox, also at those that are half registered.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs, epochMs, minutes } from "../../core/units.ts";
import { type Batches, createBatches, type JobInput } from "../../produce/batches.ts";
import { createJobRegistry, type JobRegistry } from "../../produce/jobs.ts";
import { createSweeper } from "../../produce/sweeper.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { createSimOutbox } from "../ports/sim-outbox.ts";
import { createSimQueue } from "../ports/sim-queue.ts";
import { EVENT_SOURCE, identityOf } from "../record-names.ts";
import { SCOPE, START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { WorkloadItem } from "../workload.ts";
import { type HostClock, SimProcess } from "./process.ts";

const NAME = "poller";
const RESTART_MS_SPREAD = 60_000;
const RETRY_MS = durationMs(15_000);
const CHECK_MS = durationMs(45_000);
const SWEEP_MS = minutes(5);
const STUCK_MS = minutes(20);

interface SimBatch {
  readonly name: string;
  readonly items: WorkloadItem[];
  /** Items that have not arrived yet. */
  expected: number;
  registered: boolean;
}

export class PollerHost {
  readonly name = NAME;
  readonly hostClock: HostClock = { aheadMs: 0 };
  readonly #services: WorldServices;
  readonly #options: { readonly seed: number; readonly topology: Topology };
  readonly #batches = new Map<string, SimBatch>();
  #incarnation = 0;
  #process: SimProcess | null = null;
  #registering: Batches | null = null;

  constructor(
    services: WorldServices,
    options: { readonly seed: number; readonly topology: Topology },
    items: readonly WorkloadItem[],
  ) {
    this.#services = services;
    this.#options = options;
    for (const item of items) {
      const name = batchOf(item, options.topology);
      if (name === null) continue;
      const batch = this.#batches.get(name) ?? { name, items: [], expected: 0, registered: false };
      batch.expected += 1;
      this.#batches.set(name, batch);
    }
  }

  get process(): SimProcess | null {
    return this.#process;
  }

  /** Batches that are not registered yet. */
  get unconfirmed(): number {
    return [...this.#batches.values()].filter(({ registered }) => !registered).length;
  }

  /** Takes a job of a batch; false if it belongs to none. */
  accept(item: WorkloadItem): boolean {
    const batch = this.#batches.get(batchOf(item, this.#options.topology) ?? "");
    if (batch === undefined) return false;
    const { names } = this.#services.ports;
    names.add(identityOf(item.name), item.name);
    if (this.#options.topology.own) names.addOwn(item.name);
    batch.items.push(item);
    const process = this.#process;
    const complete = batch.items.length === batch.expected;
    if (complete) process?.dispatch(() => void this.#register(process, batch));
    return true;
  }

  start(): void {
    if (this.#process?.alive) return;
    this.#incarnation += 1;
    const { scheduler, history, ports } = this.#services;
    history.add(NAME, { kind: "process", what: `starts (incarnation ${this.#incarnation})` });
    const onCrash = (_: SimProcess, word: number) => this.#crashed(word);
    const process = new SimProcess(NAME, scheduler, onCrash, this.hostClock);
    this.#process = process;
    this.#registering = this.#batchesOf(process);
    ports.holders.join([process]);
    for (const batch of this.#batches.values()) {
      if (batch.items.length === batch.expected) void this.#register(process, batch); // P1
    }
    void this.#check(process);
    this.#sweep(process);
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

  #portsOf(process: SimProcess) {
    const { ports, endpoints, queue, outbox, ledger, ledgerCaller, outboxCaller } = this.#services;
    const { seed, topology } = this.#options;
    return {
      target: createSimQueue(ports, process, queue, { service: endpoints.queue, role: "work" }),
      outbox: createSimOutbox(ports, process, outbox, {
        service: endpoints.outbox,
        caller: outboxCaller,
      }),
      ledger: createSimLedger(ports, process, ledger, {
        service: endpoints.ledger,
        time: topology.ledgerTime,
        caller: ledgerCaller,
      }),
      clock: process.clock,
      turn: process.turn,
      random: createSeededRandom(`${seed} ${NAME} ${this.#incarnation}`),
    };
  }

  #batchesOf(process: SimProcess): Batches {
    const groups = ({ payload }: { payload: Readonly<Record<string, unknown>> }) =>
      String(payload.group);
    return createBatches(this.#portsOf(process), { scope: SCOPE, groups, owner: NAME });
  }

  async #register(process: SimProcess, batch: SimBatch): Promise<void> {
    const batches = this.#registering;
    if (batch.registered || batches === null) return;
    const jobs = batch.items.map((item) => jobOf(item, this.#options.topology));
    while (!batch.registered) {
      const result = await batches.register(batch.name, jobs).catch(() => null);
      batch.registered ||= result?.kind === "registered";
      if (!batch.registered) await process.clock.sleep(RETRY_MS);
    }
    await this.#checkBatch(this.#registryOf(process), batch);
  }

  async #check(process: SimProcess): Promise<void> {
    const registry = this.#registryOf(process);
    for (;;) {
      await process.clock.sleep(CHECK_MS);
      for (const batch of this.#batches.values()) await this.#checkBatch(registry, batch); // P2
    }
  }

  async #checkBatch(registry: JobRegistry, { name, items, expected }: SimBatch): Promise<void> {
    if (!(await registry.isDone(name).catch(() => false))) return;
    const names = items.map((item) => item.name);
    const whole = names.length === expected;
    this.#services.history.add(NAME, { kind: "batch-complete", batch: name, whole, names });
  }

  #registryOf(process: SimProcess): JobRegistry {
    const target = this.#services.queue.name;
    return createJobRegistry(this.#portsOf(process), { target, scope: SCOPE });
  }

  #sweep(process: SimProcess): void {
    const options = { scope: SCOPE, stuckAfterMs: STUCK_MS, owner: `${NAME}-sweeper` };
    const sweeper = createSweeper(this.#portsOf(process), options);
    void sweeper.run({ everyMs: SWEEP_MS, signal: new AbortController().signal });
  }
}

/** An event of a producer, or an own message that a consumer keys by its `dedupe_key`. */
function jobOf({ name, atMs, group }: WorkloadItem, { own }: Topology): JobInput {
  const eventTime = epochMs(START_AT + atMs);
  if (!own) return { source: EVENT_SOURCE, dedupeKey: name, eventTime, payload: { group } };
  return { key: name, body: { dedupe_key: name, event_time: formatInstant(eventTime), group } };
}

/** The batch of a record; null if producers send it. Probes are in no batch. */
function batchOf({ name }: WorkloadItem, { batches, events }: Topology): string | null {
  const number = Number(/^e(\d+)$/.exec(name)?.[1] ?? 0);
  if (batches === 0 || number === 0 || number % 2 === 0) return null;
  return `b${Math.ceil((number * batches) / events)}`;
}
