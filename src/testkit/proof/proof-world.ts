// Proof world: one run of a user's handler, on the production consumer, broker and ledger, in
// virtual time.
//   W1. Two consumers work on one queue; one that dies is started again.
//   W2. A run is over when the queue is empty and nobody is at anything any more, or when it has
//       gone on for so long that it never will be.

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
import { ledgerClock } from "../../sim/ports/sim-ledger.ts";
import { createRecordNames } from "../../sim/record-names.ts";
import { Scheduler } from "../../sim/scheduler.ts";
import { TraceHash } from "../../sim/trace-hash.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { ProofConsumer, type ProofStage } from "./proof-consumer.ts";
import type { FetchStub, OutsideUse } from "./proof-handler.ts";
import { type OutsideCall, type ProofEvent, ProofRun } from "./proof-run.ts";
import type { ProofInput, ProofRecord } from "./proof-samples.ts";
import type { Injection, Point, ProofSchedule } from "./proof-schedule.ts";
import { proofHistory } from "./proof-story.ts";
import { ProofTables } from "./proof-tables.ts";

export interface ProofSetup {
  readonly pipeline: Pipeline;
  readonly input: ProofInput;
  readonly rows: RowReader;
  readonly fetch: FetchStub;
  /** Lets real work come to rest; false if it would not. */
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
  readonly told: readonly ProofEvent[];
  readonly calls: readonly OutsideCall[];
  readonly struck: readonly Injection[];
  readonly uses: readonly OutsideUse[];
  readonly events: readonly HistoryEvent[];
  /** Everything that the effects have come to. */
  readonly effects: string;
  /** How every record ended, by name. */
  readonly ends: ReadonlyMap<string, "committed" | "given up on" | "unfinished">;
  /** The last error that a record was given up on for, or tried again after. */
  readonly failures: ReadonlyMap<string, string>;
  /** A handler waited for something that is not of the world. */
  readonly stuck: boolean;
}

export const PROOF_START_AT = 1_893_456_000_000;
const RUN_MS_MAX = hours(12);
const LOOK_EVERY_MS = 1_000;
const LATENCY = { latencyMsMax: 5, slowMsMax: 5 };
const IDENTITY = { account: "000000000000", region: "us-east-1" };

/** Runs the records once, with the disturbances of the schedule. */
export async function runProof(setup: ProofSetup, options: RunOptions): Promise<RunResult> {
  const { records, schedule, startAt, seed } = options;
  const run = new ProofRun(schedule);
  let stuck = false;
  const drain = async () => {
    if (!(await setup.settle(() => run.busy && !stuck))) stuck = true;
  };
  const scheduler = new Scheduler({ startAt, trace: new TraceHash(), drain });
  const stage = await createStage(setup, { scheduler, run, seed });
  for (const { identity, name } of records) stage.ports.names.teach(identity, name);
  const consumers = ["consumer-1", "consumer-2"].map((name) => new ProofConsumer(name, stage));
  run.enter({
    redeliver: ({ process }) => {
      const [receipt] = stage.inHand.get(process.name) ?? [];
      if (receipt === undefined) return;
      void stage.queue.changeVisibility([{ receipt, visibilityMs: 0 as never }]);
    },
    stall: (process) => {
      const host = consumers.find(({ name }) => name === process.name);
      host?.stall(setup.pipeline.visibilityMs * 2.5);
    },
  });
  for (const consumer of consumers) consumer.start(); // W1
  await sendAll(stage, records);
  await untilDone(stage, consumers, () => stuck);
  return resultOf(stage, records, stuck);
}

async function createStage(
  setup: ProofSetup,
  parts: { readonly scheduler: Scheduler; readonly run: ProofRun; readonly seed: string },
): Promise<ProofStage> {
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
  const caller = { actor: "", now: null };
  const ledger = createMemoryLedger(
    { clock: ledgerClock(scheduler, caller) },
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
    inHand: new Map(),
    uses: [],
    failures: new Map(),
  };
}

async function createQueues(
  scheduler: Scheduler,
  broker: Awaited<ReturnType<typeof createBroker>>,
  { source }: Pipeline,
): Promise<Pick<ProofStage, "broker" | "queue" | "deadLetters">> {
  const fifo = source.queue?.endsWith(".fifo") ?? false;
  const attributes: Record<string, string> = fifo ? { FifoQueue: "true" } : {};
  const [work, dead] = fifo ? ["work.fifo", "dead.fifo"] : ["work", "dead"];
  const making = [work, dead].map((name) =>
    broker.submit("createQueue", { name, attributes, tags: {} }),
  );
  await scheduler.run(scheduler.now);
  for (const made of await Promise.all(making)) {
    if (!made.ok) throw new TidegateError("TG_CONFIG_INVALID", made.fault.message);
  }
  return {
    broker,
    queue: createBrokerQueue(broker, { queue: work }),
    deadLetters: createBrokerQueue(broker, { queue: dead }),
  };
}

async function sendAll(
  { queue, scheduler }: ProofStage,
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
  stage: ProofStage,
  consumers: readonly ProofConsumer[],
  stuck: () => boolean,
): Promise<void> {
  const { scheduler, run } = stage;
  const until = scheduler.now + RUN_MS_MAX;
  while (scheduler.now < until && !stuck()) {
    await scheduler.run(scheduler.now + LOOK_EVERY_MS);
    const idle = !run.running && consumers.every((consumer) => consumer.idle);
    if (idle && (await isEmpty(stage))) break;
  }
  for (const consumer of consumers) consumer.end();
}

async function isEmpty({ broker, queue, scheduler }: ProofStage): Promise<boolean> {
  const asked = broker.submit("countQueues", { prefix: queue.name });
  await scheduler.run(scheduler.now);
  const counted = await asked;
  if (!counted.ok) return false;
  return counted.value.queues.every(({ visible, delayed, inFlight }) => {
    return visible + delayed + inFlight === 0;
  });
}

function resultOf(stage: ProofStage, records: readonly ProofRecord[], stuck: boolean): RunResult {
  const { run, history, tables, uses, failures } = stage;
  const ends = records.map(({ name }): [string, "committed" | "given up on" | "unfinished"] => {
    const about = history.events.filter((event) => "name" in event && event.name === name);
    const done = about.some((event) => {
      // An older state of an object is done with when a newer one was applied.
      return event.kind === "committed" || (event.kind === "refused" && event.why === "stale");
    });
    if (done) return [name, "committed"];
    return [name, about.some(({ kind }) => kind === "parked") ? "given up on" : "unfinished"];
  });
  const { points, told, calls, struck } = run;
  return {
    points,
    told,
    calls,
    struck,
    uses,
    failures,
    stuck,
    events: history.events,
    effects: tables.snapshot(),
    ends: new Map(ends),
  };
}
