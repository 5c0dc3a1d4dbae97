// Proof world: one run of a user's handler, on the production consumer, broker and ledger, in
// virtual time.
//   W1. Two consumers read one queue; a crashed one is restarted.
//   W2. A run ends when the queue is empty and no handler runs any more, or when a time limit shows
//       that it never will.

import { createBroker } from "../../broker/engine/create-broker.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { TidegateError } from "../../core/errors.ts";
import { messageDedupId } from "../../core/events/envelope.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { days, hours } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { RowReader } from "../../ports/rows.ts";
import { createFaults } from "../../sim/faults/call-faults.ts";
import { NO_RATES } from "../../sim/faults/fault-mix.ts";
import { createHistory, type HistoryEvent } from "../../sim/history.ts";
import { SimProcess } from "../../sim/hosts/process.ts";
import { Network } from "../../sim/ports/network.ts";
import { callersTime, createStoreCaller } from "../../sim/ports/process-time.ts";
import { createRecordNames } from "../../sim/record-names.ts";
import { Scheduler } from "../../sim/scheduler.ts";
import { TraceHash } from "../../sim/trace-hash.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { ProofConsumer, type ProofServices } from "./proof-consumer.ts";
import type { FetchStub, OutsideUse } from "./proof-handler.ts";
import { type OutsideCall, ProofRun, type ProofStep } from "./proof-run.ts";
import type { ProofInput, ProofRecord } from "./proof-samples.ts";
import type { Injection, Point, ProofSchedule } from "./proof-schedule.ts";
import { proofHistory } from "./proof-story.ts";
import { ProofTables } from "./proof-tables.ts";

export interface ProofSetup {
  readonly pipeline: Pipeline;
  readonly input: ProofInput;
  readonly rows: RowReader;
  readonly fetch: FetchStub;
  /** Waits until real work has finished; false if it does not finish. */
  readonly settle: (busy: () => boolean) => Promise<boolean>;
}

export interface RunOptions {
  readonly records: readonly ProofRecord[];
  readonly schedule: ProofSchedule;
  readonly startAt: number;
  readonly seed: string;
}

export interface RunResult {
  readonly points: readonly Point[];
  readonly steps: readonly ProofStep[];
  readonly calls: readonly OutsideCall[];
  readonly injected: readonly Injection[];
  readonly uses: readonly OutsideUse[];
  readonly events: readonly HistoryEvent[];
  /** The final state of all effects. */
  readonly effects: string;
  /** How every record ended, by name. */
  readonly ends: ReadonlyMap<string, "committed" | "dead-lettered" | "unfinished">;
  /** The last error of each record. */
  readonly failures: ReadonlyMap<string, string>;
  /** A handler waits for something outside the simulated world. */
  readonly stuck: boolean;
}

export const PROOF_START_AT = 1_893_456_000_000;
const RUN_MS_MAX = hours(12);
const CHECK_EVERY_MS = 1_000;
const LATENCY = { latencyMsMax: 5, slowMsMax: 5 };
const IDENTITY = { account: "000000000000", region: "us-east-1" };

/** Runs the records once, with the faults of the schedule. */
export async function runProof(setup: ProofSetup, options: RunOptions): Promise<RunResult> {
  const { records, schedule, startAt, seed } = options;
  const run = new ProofRun(schedule);
  let stuck = false;
  const drain = async () => {
    if (!(await setup.settle(() => run.busy && !stuck))) stuck = true;
  };
  const scheduler = new Scheduler({ startAt, trace: new TraceHash(), drain });
  const services = await createProofServices(setup, { scheduler, run, seed });
  for (const { identity, name, body } of records) services.ports.names.add(identity, name, body);
  const consumers = ["consumer-1", "consumer-2"].map((name) => new ProofConsumer(name, services));
  run.enter({
    redeliver: ({ process }) => {
      const [receipt] = services.inFlight.get(process.name) ?? [];
      if (receipt === undefined) return;
      void services.queue.changeVisibility([{ receipt, visibilityMs: 0 as never }]);
    },
    stall: (process) => {
      const host = consumers.find(({ name }) => name === process.name);
      host?.stall(setup.pipeline.visibilityMs * 2.5);
    },
  });
  for (const consumer of consumers) consumer.start(); // W1
  await sendAll(services, records);
  await untilDone(services, consumers, () => stuck);
  return resultOf(services, records, stuck);
}

async function createProofServices(
  setup: ProofSetup,
  parts: { readonly scheduler: Scheduler; readonly run: ProofRun; readonly seed: string },
): Promise<ProofServices> {
  const { scheduler, run, seed } = parts;
  const { pipeline } = setup;
  const history = proofHistory(createHistory(scheduler), run);
  const names = createRecordNames(pipeline.name, pipeline.generation);
  const faults = createFaults({
    seed: 1,
    rates: NO_RATES,
    planned: new Map(),
    only: null,
    clock: scheduler,
    quietAt: () => 0,
    onFired: () => {},
  });
  const broker = new SimProcess("broker", scheduler, () => {});
  const random = createSeededRandom(`${seed} broker`);
  const ports = {
    store: createMemoryBrokerStore(),
    clock: broker.clock,
    turn: broker.turn,
    random,
  };
  const starting = createBroker(ports, IDENTITY);
  await scheduler.run(scheduler.now);
  const queues = await createQueues(scheduler, await starting, pipeline);
  const tables = new ProofTables(pipeline.sink);
  const caller = createStoreCaller();
  const ledger = createMemoryLedger(
    { clock: broker.clock, time: callersTime(scheduler, caller) },
    {
      retentionMs: days(1),
      writes: { dialect: "sqlite", run: (writes) => tables.run(writes) },
    },
  );
  return {
    setup,
    scheduler,
    run,
    seed,
    history,
    tables,
    ledger,
    caller,
    ...queues,
    ports: {
      network: new Network(scheduler, LATENCY),
      faults,
      history,
      names,
      receipts: new Map(),
    },
    inFlight: new Map(),
    uses: [],
    failures: new Map(),
  };
}

async function createQueues(
  scheduler: Scheduler,
  broker: Awaited<ReturnType<typeof createBroker>>,
  { source }: Pipeline,
): Promise<Pick<ProofServices, "broker" | "queue" | "deadLetters">> {
  const fifo = source.queue?.endsWith(".fifo") ?? false;
  const attributes: Record<string, string> = fifo ? { FifoQueue: "true" } : {};
  const [work, dead] = fifo ? ["work.fifo", "dead.fifo"] : ["work", "dead"];
  const creating = [work, dead].map((name) =>
    broker.submit("createQueue", { name, attributes, tags: {} }),
  );
  await scheduler.run(scheduler.now);
  for (const created of await Promise.all(creating)) {
    if (!created.ok) throw new TidegateError("TG_CONFIG_INVALID", created.fault.message);
  }
  return {
    broker,
    queue: createBrokerQueue(broker, { queue: work }),
    deadLetters: createBrokerQueue(broker, { queue: dead }),
  };
}

async function sendAll(
  { queue, scheduler }: ProofServices,
  records: readonly ProofRecord[],
): Promise<void> {
  const sending = records.map(({ body, group, name }) => {
    const fifo = queue.fifo;
    const [groupId, dedupId] = fifo ? [group, messageDedupId("sample", name)] : [null, null];
    return queue.sendBatch([{ body, attributes: {}, groupId, dedupId }]);
  });
  await scheduler.run(scheduler.now);
  await Promise.all(sending);
}

/** W2 */
async function untilDone(
  services: ProofServices,
  consumers: readonly ProofConsumer[],
  stuck: () => boolean,
): Promise<void> {
  const { scheduler, run } = services;
  const until = scheduler.now + RUN_MS_MAX;
  while (scheduler.now < until && !stuck()) {
    await scheduler.run(scheduler.now + CHECK_EVERY_MS);
    const idle = !run.running && consumers.every((consumer) => consumer.idle);
    if (idle && (await isEmpty(services))) break;
  }
  for (const consumer of consumers) consumer.end();
}

async function isEmpty({ broker, queue, scheduler }: ProofServices): Promise<boolean> {
  const counting = broker.submit("countQueues", { prefix: queue.name });
  await scheduler.run(scheduler.now);
  const counted = await counting;
  if (!counted.ok) return false;
  return counted.value.queues.every(({ visible, delayed, inFlight }) => {
    return visible + delayed + inFlight === 0;
  });
}

function resultOf(
  services: ProofServices,
  records: readonly ProofRecord[],
  stuck: boolean,
): RunResult {
  const { run, history, tables, uses, failures } = services;
  const ends = records.map(({ name }): [string, "committed" | "dead-lettered" | "unfinished"] => {
    const own = history.events.filter((event) => "name" in event && event.name === name);
    const done = own.some((event) => {
      // An older version of an object needs no commit once a newer one is applied.
      return event.kind === "committed" || (event.kind === "refused" && event.why === "stale");
    });
    if (done) return [name, "committed"];
    return [name, own.some(({ kind }) => kind === "parked") ? "dead-lettered" : "unfinished"];
  });
  const { points, steps, calls, injected } = run;
  return {
    points,
    steps,
    calls,
    injected,
    uses,
    failures,
    stuck,
    events: history.events,
    effects: tables.snapshot(),
    ends: new Map(ends),
  };
}
