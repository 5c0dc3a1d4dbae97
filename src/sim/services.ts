// World services: the parts of a world that outlive its processes: time, the broker, the stores,
// the network, the history.

import type { Broker } from "../broker/engine/broker.ts";
import { createBroker } from "../broker/engine/create-broker.ts";
import { createBrokerQueue } from "../cloud/broker-queue.ts";
import { TidegateError } from "../core/errors.ts";
import { createSeededRandom } from "../core/seeded-random.ts";
import { days } from "../core/units.ts";
import type { BrokerStore } from "../ports/broker/broker-store.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Outbox } from "../ports/outbox.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import { type CallFaultKind, createFaults } from "./faults/call-faults.ts";
import type { FaultMix } from "./faults/fault-mix.ts";
import { FrozenHolders } from "./faults/frozen-holders.ts";
import { hashText } from "./faults/named-random.ts";
import { createDrift } from "./faults/unsteady-times.ts";
import { createHistory, type History } from "./history.ts";
import { type HostClock, SimProcess } from "./hosts/process.ts";
import { createEffectTable, type EffectTable } from "./ports/effect-table.ts";
import { Network, type Service } from "./ports/network.ts";
import { callersTime, createStoreCaller, type StoreCaller } from "./ports/process-time.ts";
import { repeatingQueue } from "./ports/repeater.ts";
import { SimArchive } from "./ports/sim-archive.ts";
import {
  createSimBrokerStore,
  NO_STORE_FAULTS,
  type StoreFaults,
} from "./ports/sim-broker-store.ts";
import { SimBucket } from "./ports/sim-bucket.ts";
import { SimResults } from "./ports/sim-objects-sink.ts";
import type { SimPorts } from "./ports/sim-ports.ts";
import type { Receipts } from "./ports/sim-queue.ts";
import { effectOfWrite } from "./ports/sim-sink.ts";
import { createRecordNames, PIPELINE_NAME } from "./record-names.ts";
import { type Drain, Scheduler } from "./scheduler.ts";
import { SimTables } from "./tables/sim-tables.ts";
import type { Topology } from "./topology.ts";
import { TraceHash } from "./trace-hash.ts";
import type { HandlerTools, WorldParts } from "./world-parts.ts";

/** Where simulated time begins: 2030-01-01T00:00:00Z. */
export const START_AT = 1_893_456_000_000;
export const SCOPE = { pipeline: PIPELINE_NAME, generation: 0 } as const;
const ACCOUNT = "000000000000";
const REGION = "us-east-1";

export interface WorldServicesOptions {
  readonly seed: number;
  readonly topology: Topology;
  readonly mix: FaultMix;
  readonly only: ReadonlySet<string> | null;
  readonly planned: ReadonlyMap<string, CallFaultKind>;
  readonly quietAt: number;
  readonly parts: WorldParts;
  readonly drain: Drain;
}

export interface WorldServices {
  readonly scheduler: Scheduler;
  readonly trace: TraceHash;
  readonly history: History;
  readonly ports: SimPorts & { readonly receipts: Receipts; readonly holders: FrozenHolders };
  readonly broker: Broker;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly lateQueue: Queue;
  readonly ledger: Ledger;
  readonly ledgerCaller: StoreCaller;
  readonly outboxCaller: StoreCaller;
  readonly outbox: Outbox;
  readonly table: EffectTable;
  readonly bucket: SimBucket;
  /** Null in worlds without tables. */
  readonly tables: SimTables | null;
  /** The bucket that an objects sink writes to. */
  readonly results: SimResults;
  /** The bucket in which the pipeline keeps its messages, in worlds with an archive. */
  readonly archive: SimArchive;
  readonly endpoints: Readonly<Record<ServiceName, Service>>;
  readonly storeFaults: StoreFaults;
  readonly brokerClock: HostClock;
  /** Whether the operator pauses the pipeline in this world. */
  readonly pauses: boolean;
  readonly driftMsOf: HandlerTools["driftMsOf"];
  arnOf(queue: Queue): string;
}

const SERVICE_NAMES = [
  "queue",
  "dead-letters",
  "late-queue",
  "ledger",
  "sink",
  "objects",
  "outbox",
  "archive",
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

export async function createWorldServices(options: WorldServicesOptions): Promise<WorldServices> {
  const { seed, topology, mix, only, planned, quietAt, parts } = options;
  const trace = new TraceHash();
  const scheduler = new Scheduler({ startAt: START_AT, trace, drain: options.drain });
  const history = tracedHistory(createHistory(scheduler), trace);
  const faults = createFaults({
    seed,
    rates: mix.rates,
    only,
    planned,
    clock: scheduler,
    quietAt: () => quietAt,
    onFired: ({ id, what }) => history.add("world", { kind: "fault", id, what }),
  });
  const network = new Network(scheduler, topology);
  const frozen = { rate: mix.frozenHolders, leaseMs: topology.visibilityMs };
  const holders = new FrozenHolders({ seed, scheduler, faults, quietAt, ...frozen });
  const names = createRecordNames(PIPELINE_NAME, 0);
  const storeFaults: StoreFaults = { ...NO_STORE_FAULTS };
  const brokerClock: HostClock = { aheadMs: 0 };
  const brokerProcess = new SimProcess("broker", scheduler, () => {}, brokerClock);
  const { clock } = brokerProcess;
  const observer = { scheduler, history, names, retentionMs: topology.retentionMs };
  const store = createSimBrokerStore(parts.createBrokerStore, storeFaults, observer);
  const broker = await startBroker(seed, brokerProcess, store, scheduler);
  const queues = await createQueues(scheduler, broker, topology);
  const exact = topology.fifo && topology.commitMsMax === 0; // X1
  const repeaterPorts = { faults, history, names, scheduler };
  const repeats = { seed, quietAt };
  const queue = exact ? repeatingQueue(queues.queue, repeaterPorts, repeats) : queues.queue;
  storeFaults.commitMsMax = topology.commitMsMax;
  const [ledgerCaller, outboxCaller] = [createStoreCaller(), createStoreCaller()];
  const table = createEffectTable(history);
  const tables = await createTables(options, { history, names, caller: ledgerCaller });
  const stores = { scheduler, clock, ledgerCaller, names, tables };
  return {
    scheduler,
    trace,
    history,
    broker,
    ledger: createLedger(options, table, stores),
    ledgerCaller,
    outboxCaller,
    brokerClock,
    pauses: mix.timeline.pause > 0,
    driftMsOf: createDrift(seed, topology),
    outbox: parts.createOutbox({ clock, time: callersTime(scheduler, outboxCaller) }),
    table,
    storeFaults,
    ...queues,
    queue,
    ports: { network, faults, history, names, holders, receipts: new Map() },
    bucket: new SimBucket(topology.versioned),
    tables,
    results: new SimResults(history, names),
    archive: new SimArchive(history, names),
    endpoints: createEndpoints(),
    arnOf: ({ name }) => `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
  };
}

async function startBroker(
  seed: number,
  { clock, turn }: SimProcess,
  store: BrokerStore,
  scheduler: Scheduler,
): Promise<Broker> {
  const random = createSeededRandom(`${seed} broker`);
  const starting = createBroker(
    { store, clock, turn, random },
    { account: ACCOUNT, region: REGION },
  );
  await scheduler.run(scheduler.now);
  return await starting;
}

function createEndpoints(): Record<ServiceName, Service> {
  const endpoints = SERVICE_NAMES.map((name): [ServiceName, Service] => [
    name,
    { name, downUntil: 0 },
  ]);
  return Object.fromEntries(endpoints) as Record<ServiceName, Service>;
}

function tracedHistory(history: History, trace: TraceHash): History {
  return {
    events: history.events,
    add(actor, event) {
      trace.fold(hashText(event.kind));
      history.add(actor, event);
    },
  };
}

function createLedger(
  { parts, topology }: WorldServicesOptions,
  table: EffectTable,
  world: {
    readonly scheduler: Scheduler;
    readonly ledgerCaller: StoreCaller;
    readonly clock: Clock;
    readonly names: SimPorts["names"];
    readonly tables: SimTables | null;
  },
): Ledger {
  const { scheduler, clock, ledgerCaller, names, tables } = world;
  const ports = { clock, time: callersTime(scheduler, ledgerCaller) };
  if (tables !== null) {
    const { run, store } = tables;
    const writes = { dialect: "sqlite", run, store } as const;
    return tables.observed(parts.createLedger(ports, { retentionMs: days(1), writes }));
  }
  const run: NonNullable<NonNullable<Parameters<WorldParts["createLedger"]>[1]>["writes"]>["run"] =
    (writes, { key, fence }) => {
      for (const write of writes) {
        table.write(
          ledgerCaller.actor,
          effectOfWrite(write, { name: names.ofKey(key), recordKey: key, fence }),
        );
      }
    };
  const transactional = topology.sink === "transactional";
  return parts.createLedger(ports, {
    retentionMs: days(1),
    ...(transactional && { writes: { dialect: "sqlite", run } }),
  });
}

async function createTables(
  { seed, topology: { tables: topology } }: WorldServicesOptions,
  world: Pick<ConstructorParameters<typeof SimTables>[0], "history" | "names" | "caller">,
): Promise<SimTables | null> {
  if (topology === undefined) return null;
  const tables = new SimTables({ seed, topology, scope: SCOPE, ...world });
  await tables.prepare();
  return tables;
}

async function createQueues(
  scheduler: Scheduler,
  broker: Broker,
  { fifo, maxReceiveCount, retentionMs, deadLetterRetentionMs }: Topology,
) {
  const base: Record<string, string> = fifo ? { FifoQueue: "true" } : {};
  const [work, dead, late] = ["work", "dead", "late"].map((name) =>
    fifo ? `${name}.fifo` : name,
  ) as [string, string, string];
  const deadLetterTargetArn = `arn:aws:sqs:${REGION}:${ACCOUNT}:${dead}`;
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
  const attributes = {
    ...base,
    ...(maxReceiveCount !== null && { RedrivePolicy }),
    MessageRetentionPeriod: String(retentionMs / 1_000),
  };
  const deadAttributes = {
    ...base,
    ...(deadLetterRetentionMs !== undefined && {
      MessageRetentionPeriod: String(deadLetterRetentionMs / 1_000),
    }),
  };
  const creating = [
    broker.submit("createQueue", { name: dead, attributes: deadAttributes, tags: {} }),
    broker.submit("createQueue", { name: work, attributes, tags: {} }),
    broker.submit("createQueue", { name: late, attributes: base, tags: {} }),
  ];
  await scheduler.run(scheduler.now);
  for (const created of await Promise.all(creating)) {
    if (!created.ok) throw new TidegateError("TG_CONFIG_INVALID", created.fault.message);
  }
  return {
    queue: createBrokerQueue(broker, { queue: work }),
    deadLetters: createBrokerQueue(broker, { queue: dead }),
    lateQueue: createBrokerQueue(broker, { queue: late }),
  };
}
