// World services: the parts of a world that outlive its processes: time, the broker, the stores,
// the network, the history.

import type { Broker } from "../broker/engine/broker.ts";
import { createBroker } from "../broker/engine/create-broker.ts";
import { createBrokerQueue } from "../cloud/broker-queue.ts";
import { TidegateError } from "../core/errors.ts";
import { createSeededRandom } from "../core/seeded-random.ts";
import { days, durationMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Outbox } from "../ports/outbox.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import { type CallFaultKind, createFaults } from "./faults/call-faults.ts";
import type { FaultMix } from "./faults/fault-mix.ts";
import { hashText } from "./faults/named-random.ts";
import { createHistory, type History } from "./history.ts";
import { SimProcess } from "./hosts/process.ts";
import { PIPELINE_NAME } from "./hosts/sim-pipeline.ts";
import { createEffectTable, type EffectTable } from "./ports/effect-table.ts";
import { Network, type Service } from "./ports/network.ts";
import { repeatingQueue } from "./ports/repeater.ts";
import { createSimBrokerStore, type StoreFaults } from "./ports/sim-broker-store.ts";
import { SimBucket } from "./ports/sim-bucket.ts";
import { type LedgerCaller, ledgerClock } from "./ports/sim-ledger.ts";
import type { SimPorts } from "./ports/sim-ports.ts";
import type { Receipts } from "./ports/sim-queue.ts";
import { effectOfWrite } from "./ports/sim-sink.ts";
import { createRecordNames } from "./record-names.ts";
import { type Drain, Scheduler } from "./scheduler.ts";
import type { Topology } from "./topology.ts";
import { TraceHash } from "./trace-hash.ts";
import type { WorldParts } from "./world-parts.ts";

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
  /** How long after it is sent a record becomes visible. */
  readonly lateMsOf: (name: string) => number;
}

export interface WorldServices {
  readonly scheduler: Scheduler;
  readonly trace: TraceHash;
  readonly history: History;
  readonly ports: SimPorts & { readonly receipts: Receipts };
  readonly broker: Broker;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly ledger: Ledger;
  readonly ledgerCaller: LedgerCaller;
  readonly outbox: Outbox;
  readonly table: EffectTable;
  readonly bucket: SimBucket;
  readonly endpoints: Readonly<Record<ServiceName, Service>>;
  readonly storeFaults: StoreFaults;
  arnOf(queue: Queue): string;
}

export type ServiceName = "queue" | "dead-letters" | "ledger" | "sink" | "objects" | "outbox";

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
  const names = createRecordNames(PIPELINE_NAME, 0);
  const receipts: Receipts = new Map();
  const storeFaults: StoreFaults = { next: null, commitMsMax: 0 };
  const brokerProcess = new SimProcess("broker", scheduler, () => {});
  const { clock, turn } = brokerProcess;
  const observer = { scheduler, history, names, retentionMs: topology.retentionMs };
  const store = createSimBrokerStore(parts.createBrokerStore(), storeFaults, observer);
  const starting = createBroker(
    { store, clock, turn, random: createSeededRandom(`${seed} broker`) },
    { account: ACCOUNT, region: REGION },
  );
  await scheduler.run(scheduler.now);
  const broker = lateBroker(await starting, (body) => {
    const name = names.ofBody(body)[0] ?? "";
    const lateMs = topology.fifo ? 0 : options.lateMsOf(name);
    return lateMs > 0 && faults.fires(`late/${name}`, `${name} becomes visible late`) ? lateMs : 0;
  });
  const queues = await createQueues(scheduler, broker, topology);
  const exact = topology.fifo && topology.commitMsMax === 0; // X1
  const repeaterPorts = { faults, history, names, scheduler };
  const queue = exact
    ? repeatingQueue(queues.queue, repeaterPorts, { seed, quietAt })
    : queues.queue;
  storeFaults.commitMsMax = topology.commitMsMax;
  const ledgerCaller: LedgerCaller = { actor: "", now: null };
  const table = createEffectTable(history);
  const ledger = createLedger(options, table, { scheduler, ledgerCaller, names });
  return {
    scheduler,
    trace,
    history,
    broker,
    ledger,
    ledgerCaller,
    outbox: parts.createOutbox({ clock }),
    table,
    storeFaults,
    queue,
    deadLetters: queues.deadLetters,
    ports: { network, faults, history, names, receipts },
    bucket: new SimBucket(topology.versioned),
    endpoints: createEndpoints(),
    arnOf: ({ name }) => `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
  };
}

function createEndpoints(): Record<ServiceName, Service> {
  const names = ["queue", "dead-letters", "ledger", "sink", "objects", "outbox"] as const;
  const endpoints = names.map((name): [ServiceName, Service] => [name, { name, downUntil: 0 }]);
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
    readonly ledgerCaller: LedgerCaller;
    readonly names: SimPorts["names"];
  },
): Ledger {
  const { scheduler, ledgerCaller, names } = world;
  const clock: Clock = ledgerClock(scheduler, ledgerCaller);
  const run: NonNullable<NonNullable<Parameters<WorldParts["createLedger"]>[1]>["writes"]>["run"] =
    (writes, { key, fence }) => {
      for (const write of writes) {
        table.write(ledgerCaller.actor, effectOfWrite(write, names.ofKey(key), fence));
      }
    };
  const transactional = topology.sink === "transactional";
  return parts.createLedger(
    { clock },
    { retentionMs: days(1), ...(transactional && { writes: { dialect: "sqlite", run } }) },
  );
}

/** A broker in which some messages become visible some time after they are sent. */
function lateBroker(inner: Broker, lateMsOf: (body: string) => number): Broker {
  const submit: Broker["submit"] = (name, input, signal) => {
    if (name !== "send") return inner.submit(name, input, signal);
    const send = input as Parameters<typeof inner.submit<"send">>[1];
    const entries = send.entries.map((entry) => {
      const lateMs = lateMsOf(entry.body);
      return lateMs === 0 ? entry : { ...entry, lateMs: durationMs(lateMs) };
    });
    return inner.submit(name, { ...send, entries } as typeof input, signal);
  };
  return Object.assign(Object.create(inner) as Broker, { submit });
}

async function createQueues(
  scheduler: Scheduler,
  broker: Broker,
  { fifo, maxReceiveCount, retentionMs }: Topology,
) {
  const base: Record<string, string> = fifo ? { FifoQueue: "true" } : {};
  const [work, dead] = fifo ? ["work.fifo", "dead.fifo"] : ["work", "dead"];
  const deadLetterTargetArn = `arn:aws:sqs:${REGION}:${ACCOUNT}:${dead}`;
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
  const MessageRetentionPeriod = String(retentionMs / 1_000);
  const attributes = { ...base, RedrivePolicy, MessageRetentionPeriod };
  const creating = [
    broker.submit("createQueue", { name: dead, attributes: base, tags: {} }),
    broker.submit("createQueue", { name: work, attributes, tags: {} }),
  ];
  await scheduler.run(scheduler.now);
  for (const created of await Promise.all(creating)) {
    if (!created.ok) throw new TidegateError("TG_CONFIG_INVALID", created.fault.message);
  }
  return {
    queue: createBrokerQueue(broker, { queue: work }),
    deadLetters: createBrokerQueue(broker, { queue: dead }),
  };
}
