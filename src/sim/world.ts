// World: the production code on simulated ports, from its first event to its last.
//   W1. First come faults, for as long as asked. Then the world turns quiet: whoever is dead
//       starts,
//       whoever is frozen thaws, clocks are right again, and everything must drain.
//   W2. The same options give the same run, step by step; the trace hash says so.

import { SQS_DEDUP_WINDOW_MS } from "../core/limits.ts";
import type { CallFaultKind, FiredFault } from "./faults/call-faults.ts";
import type { FaultMix } from "./faults/fault-mix.ts";
import { hashText } from "./faults/named-random.ts";
import { overlap } from "./faults/overlap.ts";
import { type Cast, scheduleTimeline } from "./faults/timeline.ts";
import type { HistoryEvent, WaitingMessage, WorldFacts } from "./history.ts";
import { ConsumerHost } from "./hosts/consumer-host.ts";
import { Operator } from "./hosts/operator.ts";
import { ProducerHost } from "./hosts/producer-host.ts";
import { RelayHost } from "./hosts/relay-host.ts";
import { Notifier } from "./ports/notifier.ts";
import type { Drain } from "./scheduler.ts";
import { createWorldServices, START_AT, type WorldServices } from "./services.ts";
import type { Topology } from "./topology.ts";
import {
  busyAtMs,
  drawWorkload,
  type HandlerPlan,
  probesOf,
  SLOW_PROBE,
  type WorkloadItem,
} from "./workload.ts";
import { PRODUCTION_PARTS, type WorldParts } from "./world-parts.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly topology: Topology;
  readonly mix: FaultMix;
  /** How long faults last. */
  readonly faultyMs: number;
  /** Ids of the only faults that may strike; all may unless said. */
  readonly only?: ReadonlySet<string>;
  /** Faults that strike for certain, by their ids. */
  readonly planned?: ReadonlyMap<string, CallFaultKind>;
  /** Names of records that are left out. */
  readonly skipped?: ReadonlySet<string>;
  /** Records instead of those that the seed draws. */
  readonly items?: readonly WorkloadItem[];
  readonly parts?: Partial<WorldParts>;
  readonly drain: Drain;
}

export interface World {
  readonly stage: WorldServices;
  readonly cast: Cast;
  readonly facts: WorldFacts;
  readonly events: readonly HistoryEvent[];
  readonly fired: readonly FiredFault[];
  /** Does something at an instant counted from the beginning. */
  at(ms: number, work: () => void): void;
  /** Runs the world to its end. */
  run(): Promise<void>;
  /** How much virtual time has passed. */
  elapsedMs(): number;
  traceHash(): string;
}

/**
 * Everything must have drained by then after the faults have stopped, not counting the time that
 * handlers need if all of them run one after the other, twice.
 */
export const LIVENESS_MS_MAX = 3 * 3_600_000;
const LOOK_EVERY_MS = 5_000;
/** Long polls and slow answers of the faulty time are over by then, so that no probe meets them. */
const PROBES_AFTER_MS = 30_000;
/** Records come for this part of the faulty time, so that faults meet what is left of them, too. */
const WORKLOAD_PART = 0.8;

export async function createWorld(options: WorldOptions): Promise<World> {
  const { seed, topology, mix, faultyMs, drain, skipped = new Set() } = options;
  const parts = { ...PRODUCTION_PARTS, ...options.parts };
  const late = { part: mix.late, msMax: mix.lateMsMax };
  const spanMs = faultyMs * WORKLOAD_PART;
  const items = options.items ?? drawWorkload(seed, { topology, spanMs, skipped, late });
  const known = new Map(items.map((item) => [item.name, item]));
  const stage = await createWorldServices({
    seed,
    topology,
    mix,
    parts,
    drain,
    only: options.only ?? null,
    planned: options.planned ?? new Map(),
    quietAt: START_AT + faultyMs,
    lateMsOf: (name) => known.get(name)?.lateMs ?? 0,
  });
  return new RunningWorld(stage, { ...options, parts, items });
}

class RunningWorld implements World {
  readonly stage: WorldServices;
  readonly cast: Cast;
  readonly facts: WorldFacts;
  readonly #options: WorldOptions & {
    readonly items: readonly WorkloadItem[];
    readonly parts: WorldParts;
  };
  readonly #notifier: Notifier;
  readonly #plans = new Map<string, HandlerPlan>();
  /** What made records fail or hang for good has been seen to. */
  #mended = false;
  /** Nothing hangs any more. */
  #quiet = false;
  #drained = false;

  constructor(
    stage: WorldServices,
    options: WorldOptions & { readonly items: readonly WorkloadItem[]; readonly parts: WorldParts },
  ) {
    const { topology, seed, parts, items } = options;
    this.stage = stage;
    this.#options = options;
    this.#notifier = new Notifier(stage, topology);
    const common = { seed, topology, parts };
    const planOf = (name: string) => this.#planOf(name);
    this.cast = {
      consumers: named("consumer", topology.consumers).map(
        (name) => new ConsumerHost(stage, { ...common, name, planOf }),
      ),
      producers: named("producer", topology.producers).map(
        (name) => new ProducerHost(stage, { ...common, name }),
      ),
      relay: new RelayHost(stage, { seed, parts }),
      operator: new Operator(stage),
      objects: named("g", topology.groups).map((name) => name.replace("-", "")),
    };
    const { fifo, contents, sink, onPoison, visibilityMs, allowedLatenessMs } = topology;
    const { hanging, timeoutMs } = topology;
    const halts = fifo && onPoison === "halt";
    const drops = contents === "objects" && topology.onMissing === "drop";
    this.facts = {
      drops,
      fifo,
      halts,
      contents,
      sink,
      visibilityMs,
      allowedLatenessMs,
      dedupWindowMs: SQS_DEDUP_WINDOW_MS,
      hangMs: hanging > 0 ? timeoutMs : 0,
    };
    for (const item of items) this.#plans.set(item.name, item.plan);
  }

  get events(): readonly HistoryEvent[] {
    return this.stage.history.events;
  }

  get fired(): readonly FiredFault[] {
    return this.stage.ports.faults.fired;
  }

  at(ms: number, work: () => void): void {
    this.stage.scheduler.at(START_AT + ms, hashText("script"), work);
  }

  elapsedMs(): number {
    return this.stage.scheduler.now - START_AT;
  }

  traceHash(): string {
    return this.stage.trace.digest();
  }

  async run(): Promise<void> {
    const { seed, mix, faultyMs, items, topology } = this.#options;
    const { stage, cast } = this;
    const { scheduler } = stage;
    const quietAt = START_AT + faultyMs;
    const spanMs = faultyMs * WORKLOAD_PART;
    scheduleTimeline(seed, mix, quietAt, {
      stage,
      cast,
      busyAtMs: (name) => busyAtMs(seed, name, { topology, spanMs }),
    });
    this.#schedule(items);
    for (const consumer of cast.consumers) consumer.start();
    if (this.#hasProducers) for (const each of [...cast.producers, cast.relay]) each.start();
    await scheduler.run(quietAt);
    this.#turnQuiet(); // W1
    const workMs = workMsOf(items, topology.attempts);
    await scheduler.run(quietAt + LIVENESS_MS_MAX + 2 * workMs, () => this.#drained);
    await this.#close();
  }

  get #hasProducers(): boolean {
    return this.#options.topology.contents === "messages";
  }

  #schedule(items: readonly WorkloadItem[]): void {
    const { scheduler } = this.stage;
    for (const item of items) {
      const at = Math.max(scheduler.now, START_AT + item.atMs);
      scheduler.at(at, hashText(item.name), () => this.#hand(item));
    }
  }

  #hand(item: WorkloadItem): void {
    if (!this.#hasProducers) this.#notifier.hand(item);
    else this.cast.producers[item.producer - 1]?.hand(item);
  }

  #planOf(name: string): HandlerPlan {
    const plan = this.#plans.get(name) ?? {
      durationMs: 0,
      failures: 0,
      poison: false,
      hanging: false,
    };
    if (this.#mended) return { ...plan, failures: 0, poison: false, hanging: false };
    return this.#quiet ? { ...plan, hanging: false } : plan;
  }

  #turnQuiet(): void {
    const { topology, faultyMs } = this.#options;
    const { consumers, producers, relay, operator } = this.cast;
    const { services, history, scheduler, storeTrouble } = this.stage;
    const probesAfterMs = PROBES_AFTER_MS + topology.slowMsMax;
    const probes = probesOf(topology, faultyMs + probesAfterMs);
    storeTrouble.next = null;
    this.#quiet = true;
    history.add("world", { kind: "quiet", probes: probes.map(({ name }) => name) });
    for (const service of Object.values(services)) service.downUntil = 0;
    for (const consumer of consumers) {
      consumer.skew(0);
      consumer.thaw();
      consumer.start();
    }
    if (this.#hasProducers) {
      for (const host of [...producers, relay]) {
        host.process?.thaw();
        host.start();
      }
    }
    this.#mended = this.facts.halts;
    if (this.facts.halts) operator.reopen();
    for (const probe of probes) this.#plans.set(probe.name, probe.plan);
    scheduler.after(probesAfterMs, hashText("probes"), () => {
      for (const probe of probes) this.#hand(probe);
      overlap(this.stage, SLOW_PROBE, topology.visibilityMs);
    });
    scheduler.after(probesAfterMs + LOOK_EVERY_MS, hashText("look"), () => this.#look());
  }

  /** Looks every few seconds whether everything has drained. */
  #look(): void {
    const { scheduler } = this.stage;
    void this.#isDrained().then((drained) => {
      this.#drained ||= drained;
      if (drained) return;
      if (this.facts.halts) this.cast.operator.reopen(); // Work of the faulty time may still fail.
      scheduler.after(LOOK_EVERY_MS, hashText("look"), () => this.#look());
    });
  }

  async #isDrained(): Promise<boolean> {
    const { broker, queue, outbox } = this.stage;
    if (this.cast.producers.some(({ unconfirmed }) => unconfirmed > 0)) return false;
    if (this.#notifier.untold > 0 || this.cast.operator.busy) return false;
    if ((await outbox.stats(queue.name)).pending > 0) return false;
    const asked = broker.submit("countQueues", { prefix: queue.name });
    const counted = await asked.catch(() => undefined);
    if (!counted?.ok) return false;
    return counted.value.queues.every(({ visible, delayed, inFlight }) => {
      return visible + delayed + inFlight === 0;
    });
  }

  async #close(): Promise<void> {
    const { scheduler, history, queue, deadLetters, table } = this.stage;
    const { operator } = this.cast;
    const looking = Promise.all([operator.peek(queue), operator.peek(deadLetters)]);
    await scheduler.run(scheduler.now + LOOK_EVERY_MS);
    const [inQueue, dead] = await looking;
    const waiting: WaitingMessage[] = [
      ...inQueue.map((name): WaitingMessage => ({ name, where: "queue" })),
      ...dead.map((name): WaitingMessage => ({ name, where: "dead-letters" })),
    ];
    const drained = this.#drained;
    history.add("world", { kind: "end", drained, waiting, rows: table.rows() });
  }
}

/** How long handlers run if all of them run one after the other, failures included. */
function workMsOf(items: readonly WorkloadItem[], attempts: number): number {
  const runs = ({ plan }: WorkloadItem) => 1 + Math.min(plan.failures, attempts);
  return items.reduce((sum, item) => sum + item.plan.durationMs * runs(item), 0);
}

function named(role: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${role}-${at + 1}`);
}
