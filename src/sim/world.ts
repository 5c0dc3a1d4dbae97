// World: the production code on simulated ports, from the first event to the last.
//   W1. Faults come first, for as long as requested. Then the world turns quiet: crashed processes
//       restart, frozen ones thaw, clocks are right again, and everything must drain.
//   W2. The same options give the same run, step by step; the trace hash proves it.

import { SQS_DEDUP_WINDOW_MS } from "../core/limits.ts";
import { listHeld } from "../ingest/late/release.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { LIST_PAGE_MAX } from "../ledger/list-records.ts";
import type { CallFaultKind, FiredFault } from "./faults/call-faults.ts";
import type { FaultMix } from "./faults/fault-mix.ts";
import { hashText } from "./faults/named-random.ts";
import { overlap } from "./faults/overlap.ts";
import { scheduleTimeline, type WorldHosts } from "./faults/timeline.ts";
import type { HistoryEvent, WaitingMessage, WorldFacts } from "./history.ts";
import { Auditor } from "./hosts/auditor.ts";
import { Backfiller } from "./hosts/backfiller.ts";
import { askForCompleteness } from "./hosts/completeness.ts";
import { ConsumerHost } from "./hosts/consumer-host.ts";
import { MessageReplays } from "./hosts/message-replayer.ts";
import { SimOperator } from "./hosts/operator.ts";
import { PollerHost } from "./hosts/poller-host.ts";
import { SimProcess } from "./hosts/process.ts";
import { ProducerHost } from "./hosts/producer-host.ts";
import { RelayHost } from "./hosts/relay-host.ts";
import { Releaser } from "./hosts/releaser.ts";
import { Notifier } from "./ports/notifier.ts";
import type { Drain } from "./scheduler.ts";
import { createWorldServices, SCOPE, START_AT, type WorldServices } from "./services.ts";
import { TablesLife } from "./tables/tables-life.ts";
import { numbered, type Topology } from "./topology.ts";
import {
  busyAtMs,
  drawWorkload,
  type HandlerPlan,
  probesOf,
  SLOW_PROBE,
  type WorkloadItem,
  workMsOf,
} from "./workload.ts";
import { PRODUCTION_PARTS, type WorldParts } from "./world-parts.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly topology: Topology;
  readonly mix: FaultMix;
  /** How long faults last. */
  readonly faultyMs: number;
  /** Ids of the only faults that may fire. Default: all. */
  readonly only?: ReadonlySet<string>;
  /** Faults that always fire, by id. */
  readonly planned?: ReadonlyMap<string, CallFaultKind>;
  /** Names of records that are left out. */
  readonly skipped?: ReadonlySet<string>;
  /** Records instead of those that the seed draws. */
  readonly items?: readonly WorkloadItem[];
  readonly parts?: Partial<WorldParts>;
  readonly drain: Drain;
}

export interface World {
  readonly services: WorldServices;
  readonly hosts: WorldHosts;
  readonly facts: WorldFacts;
  readonly events: readonly HistoryEvent[];
  readonly fired: readonly FiredFault[];
  /** Runs `work` at an instant counted from the start of the world. */
  at(ms: number, work: () => void): void;
  /** Runs the world to its end. */
  run(): Promise<void>;
  /** Virtual time that has passed. */
  elapsedMs(): number;
  traceHash(): string;
}

/**
 * Everything must drain within this time after the faults stop, plus twice the time that all
 * handlers need when they run one after the other.
 */
export const LIVENESS_MS_MAX = 3 * 3_600_000;
const CHECK_EVERY_MS = 5_000;
/** Long polls and slow responses from before are over by then, so that no probe meets them. */
const PROBES_AFTER_MS = 30_000;
/** Records are sent in this fraction of the faulty time, so that faults also meet the backlog. */
const WORKLOAD_FRACTION = 0.8;

export async function createWorld(options: WorldOptions): Promise<World> {
  const { seed, topology, mix, faultyMs, drain, skipped = new Set() } = options;
  const parts = { ...PRODUCTION_PARTS, ...options.parts };
  const spanMs = faultyMs * WORKLOAD_FRACTION;
  const items = options.items ?? drawWorkload(seed, { topology, spanMs, skipped });
  const services = await createWorldServices({
    seed,
    topology,
    mix,
    parts,
    drain,
    only: options.only ?? null,
    planned: options.planned ?? new Map(),
    quietAt: START_AT + faultyMs,
  });
  return new RunningWorld(services, { ...options, parts, items });
}

class RunningWorld implements World {
  readonly services: WorldServices;
  readonly hosts: WorldHosts;
  readonly facts: WorldFacts;
  readonly #options: WorldOptions & {
    readonly items: readonly WorkloadItem[];
    readonly parts: WorldParts;
  };
  readonly #notifier: Notifier;
  readonly #backfiller: Backfiller;
  readonly #auditor: Auditor;
  readonly #replays: MessageReplays;
  /** Null in worlds without tables. */
  readonly #tables: TablesLife | null;
  readonly #plans = new Map<string, HandlerPlan>();
  readonly #lateMs = new Map<string, number>();
  /** Reads the late queue, with the same pipeline, once the faults have stopped. */
  readonly #lateConsumer: ConsumerHost | null;
  /** The cause of permanently failing and hanging handlers is repaired. */
  #repaired = false;
  /** The faults have stopped; handlers no longer hang. */
  #quiet = false;
  #drained = false;

  constructor(
    services: WorldServices,
    options: WorldOptions & { readonly items: readonly WorkloadItem[]; readonly parts: WorldParts },
  ) {
    const { topology, seed, parts, items } = options;
    this.services = services;
    this.#options = options;
    this.#notifier = new Notifier(services, { seed, ...topology });
    const common = { seed, topology, parts };
    const planOf = (name: string) => this.#planOf(name);
    const lateMsOf = (name: string) => this.#lateMs.get(name) ?? 0;
    const late = {
      ...common,
      name: "late-consumer",
      planOf,
      lateMsOf,
      source: "lateQueue",
    } as const;
    this.#backfiller = new Backfiller(services, { ...common, planOf });
    this.#auditor = new Auditor(services, common, () => this.#pipelineOfNoProcess());
    this.#replays = new MessageReplays(services, common);
    this.#tables =
      services.tables && new TablesLife(services, services.tables, { seed, topology, lateMsOf });
    this.#lateConsumer = topology.late === "queue" ? new ConsumerHost(services, late) : null;
    this.hosts = {
      consumers: numbered("consumer", topology.consumers).map(
        (name) => new ConsumerHost(services, { ...common, name, planOf, lateMsOf }),
      ),
      producers: numbered("producer", topology.producers).map(
        (name) => new ProducerHost(services, { ...common, name }),
      ),
      relay: new RelayHost(services, { seed, parts }),
      poller: topology.batches === 0 ? null : new PollerHost(services, { seed, topology }, items),
      operator: new SimOperator(services),
      releaser: new Releaser(services, topology),
      objects: numbered("g", topology.groups).map((name) => name.replace("-", "")),
      broker: services.brokerClock,
    };
    const { fifo, contents, sink, onPoison, visibilityMs, outOfOrderMs, timeoutMs } = topology;
    const halts = fifo && onPoison === "halt";
    const drops = contents === "objects" && topology.onMissing === "drop";
    this.facts = {
      drops,
      fifo,
      halts,
      contents,
      sink,
      visibilityMs,
      outOfOrderMs,
      archives: topology.archive === true,
      dedupWindowMs: SQS_DEDUP_WINDOW_MS,
      hangMs: topology.hanging > 0 ? timeoutMs : 0,
      ...(topology.tables && { onReplaced: topology.tables.onReplaced }),
    };
    for (const item of items) {
      this.#plans.set(item.name, item.plan);
      this.#lateMs.set(item.name, item.lateMs);
    }
  }

  get events(): readonly HistoryEvent[] {
    return this.services.history.events;
  }

  get fired(): readonly FiredFault[] {
    return this.services.ports.faults.fired;
  }

  at(ms: number, work: () => void): void {
    this.services.scheduler.at(START_AT + ms, hashText("script"), work);
  }

  elapsedMs(): number {
    return this.services.scheduler.now - START_AT;
  }

  traceHash(): string {
    return this.services.trace.digest();
  }

  async run(): Promise<void> {
    const { seed, mix, faultyMs, items, topology } = this.#options;
    const { services, hosts } = this;
    const { scheduler } = services;
    const quietAt = START_AT + faultyMs;
    const spanMs = faultyMs * WORKLOAD_FRACTION;
    const busyAt = (name: string) => busyAtMs(seed, name, { topology, spanMs });
    scheduleTimeline(seed, mix, quietAt, { services, hosts, busyAtMs: busyAt });
    this.#schedule(items);
    this.#scheduleBackfills(spanMs);
    this.#auditor.schedule((ms, work) => this.at(ms, work), faultyMs);
    this.#replays.schedule((ms, work) => this.at(ms, work), faultyMs);
    this.#tables?.start(faultyMs);
    askForCompleteness(services, this.#pipelineOfNoProcess());
    for (const consumer of hosts.consumers) consumer.start();
    if (this.#hasProducers) for (const each of this.#senders) each.start();
    await scheduler.run(quietAt);
    this.#turnQuiet(); // W1
    const workMs = workMsOf(items, topology.attempts);
    await scheduler.run(quietAt + LIVENESS_MS_MAX + 2 * workMs, () => this.#drained);
    await this.#close();
  }

  get #hasProducers(): boolean {
    return this.#options.topology.contents === "messages";
  }

  /** Processes that send messages. */
  get #senders() {
    const { producers, relay, poller } = this.hosts;
    return [...producers, relay, ...(poller === null ? [] : [poller])];
  }

  /** For reading messages: its handler never runs. */
  #pipelineOfNoProcess(): Pipeline {
    const { parts, topology } = this.#options;
    return parts.createPipeline({
      actor: "world",
      clock: new SimProcess("world", this.services.scheduler, () => {}).clock,
      topology,
      planOf: (name) => this.#planOf(name),
      lateMsOf: (name) => this.#lateMs.get(name) ?? 0,
      driftMsOf: () => 0,
      handling: () => {},
      drew: () => {},
    });
  }

  #schedule(items: readonly WorkloadItem[]): void {
    const { scheduler } = this.services;
    for (const item of items) {
      const at = Math.max(scheduler.now, START_AT + item.atMs);
      scheduler.at(at, hashText(item.name), () => this.#accept(item));
    }
  }

  #scheduleBackfills(spanMs: number): void {
    const { backfills = 0 } = this.#options.topology;
    for (let nth = 1; nth <= backfills; nth += 1) {
      this.at((spanMs * nth) / backfills, () => this.#backfiller.start());
    }
  }

  #accept(item: WorkloadItem): void {
    if (!this.#hasProducers) this.#notifier.accept(item);
    else if (this.hosts.poller?.accept(item)) return;
    else this.hosts.producers[item.producer - 1]?.accept(item);
  }

  #planOf(name: string): HandlerPlan {
    const plan = this.#plans.get(name) ?? {
      durationMs: 0,
      failures: 0,
      poison: false,
      hanging: false,
    };
    if (this.#repaired) return { ...plan, failures: 0, poison: false, hanging: false };
    return this.#quiet ? { ...plan, hanging: false } : plan;
  }

  #turnQuiet(): void {
    const { topology, faultyMs } = this.#options;
    const { consumers, operator } = this.hosts;
    const { endpoints, history, scheduler, storeFaults } = this.services;
    const probesAfterMs = PROBES_AFTER_MS + topology.slowMsMax;
    const probes = probesOf(topology, faultyMs + probesAfterMs);
    Object.assign(storeFaults, { next: null, renewal: null });
    this.#quiet = true;
    history.add("world", { kind: "quiet", probes: probes.map(({ name }) => name) });
    for (const service of Object.values(endpoints)) service.downUntil = 0;
    for (const clock of [...consumers, ...this.#senders].map(({ hostClock }) => hostClock)) {
      clock.aheadMs = 0;
    }
    this.services.brokerClock.aheadMs = 0;
    for (const consumer of consumers) {
      consumer.skew(0);
      consumer.thaw();
      consumer.start();
    }
    if (this.#hasProducers) {
      for (const host of this.#senders) {
        host.process?.thaw();
        host.start();
      }
    }
    this.#lateConsumer?.start();
    operator.resume();
    this.#repaired = this.facts.halts;
    if (this.facts.halts) operator.reopen();
    for (const probe of probes) this.#plans.set(probe.name, probe.plan);
    scheduler.after(probesAfterMs, hashText("probes"), () => {
      for (const probe of probes) this.#accept(probe);
      overlap(this.services, SLOW_PROBE, topology.visibilityMs);
    });
    scheduler.after(probesAfterMs + CHECK_EVERY_MS, hashText("look"), () => this.#checkDrained());
  }

  /** Checks every few seconds whether everything has drained. */
  #checkDrained(): void {
    const { scheduler } = this.services;
    const { topology } = this.#options;
    void this.#isDrained().then(async (drained) => {
      this.#drained ||= drained && (this.#tables === null || (await this.#tables.isSettled()));
      if (this.#drained) return;
      // Attempts from before the repair may still fail.
      if (this.facts.halts) this.hosts.operator.reopen();
      if (topology.late === "hold") this.hosts.releaser.release();
      scheduler.after(CHECK_EVERY_MS, hashText("look"), () => this.#checkDrained());
    });
  }

  async #isDrained(): Promise<boolean> {
    const { broker, queue, outbox, lateQueue } = this.services;
    if (this.hosts.producers.some(({ unconfirmed }) => unconfirmed > 0)) return false;
    if ((this.hosts.poller?.unconfirmed ?? 0) > 0) return false;
    if (this.#notifier.unsent > 0 || this.hosts.operator.busy) return false;
    if (this.#backfiller.busy || this.#auditor.busy) return false;
    if (this.hosts.releaser.busy || (await this.#held()).length > 0) return false;
    if (this.#lateConsumer !== null && !(await isEmpty(broker, lateQueue.name))) return false;
    if ((await outbox.stats(queue.name)).pending > 0) return false;
    if (!(await isEmpty(broker, queue.name))) return false;
    return this.#auditor.isFinal() && this.#replays.isFinal();
  }

  /** The records that the ledger holds and that no one has released. */
  async #held(): Promise<string[]> {
    const { ledger, ports } = this.services;
    const names: string[] = [];
    for await (const { note, state } of listHeld(ledger, SCOPE)) {
      if (state === "held" || state === "releasing") names.push(ports.names.ofKey(note.record_key));
    }
    return names;
  }

  /** Records that neither committed nor were parked: the oldest, which are enough to report. */
  async #unfinished(): Promise<string[]> {
    const { ledger, ports } = this.services;
    const query = { by: "event-time", outcomes: ["claimed", "released", "failed"] } as const;
    const { records } = await ledger.listRecords(SCOPE, query, {
      after: null,
      limit: LIST_PAGE_MAX,
    });
    return records.map(({ key }) => ports.names.ofKey(key));
  }

  async #close(): Promise<void> {
    const { scheduler, history, queue, deadLetters, lateQueue, table } = this.services;
    const { operator } = this.hosts;
    const queues = [queue, deadLetters, lateQueue].map((each) => operator.peek(each));
    const peeking = Promise.all([...queues, this.#held(), this.#unfinished()]);
    await scheduler.run(scheduler.now + CHECK_EVERY_MS);
    const [inQueue = [], dead = [], late = [], held = [], unfinished = []] = await peeking;
    const waiting: WaitingMessage[] = [
      ...inQueue.map((name): WaitingMessage => ({ name, where: "queue" })),
      ...dead.map((name): WaitingMessage => ({ name, where: "dead-letters" })),
      ...late.map((name): WaitingMessage => ({ name, where: "late-queue" })),
      ...held.map((name): WaitingMessage => ({ name, where: "held" })),
    ];
    const drained = this.#drained;
    await this.#tables?.end();
    history.add("world", { kind: "end", drained, waiting, unfinished, rows: table.rows() });
  }
}

async function isEmpty(broker: WorldServices["broker"], prefix: string): Promise<boolean> {
  const counted = await broker.submit("countQueues", { prefix }).catch(() => undefined);
  if (!counted?.ok) return false;
  return counted.value.queues.every(
    (queue) => queue.visible + queue.delayed + queue.inFlight === 0,
  );
}
