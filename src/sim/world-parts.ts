// World parts: the production code that a world is made of, by name. Tests replace a part to see
// whether the simulator catches a broken one; everything else uses these.

import { runAudit } from "../audit/run-audit.ts";
import { runBackfill } from "../backfill/backfill.ts";
import { createMessageArchive } from "../ingest/archive/message-archive.ts";
import { createConsumer } from "../ingest/running/consumer.ts";
import { createLeaseRenewer } from "../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { Clock } from "../ports/clock.ts";
import { createProducer } from "../produce/producer.ts";
import { createRelay } from "../produce/relay.ts";
import { createMemoryBrokerStore } from "../stores/memory/broker-store.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { createMemoryOutbox } from "../stores/memory/outbox.ts";
import type { DrawnValues, SimLane } from "./history.ts";
import { createSimPipeline } from "./hosts/sim-pipeline.ts";
import type { Topology } from "./topology.ts";
import type { HandlerPlan } from "./workload.ts";

/** What a simulated handler may use in addition to its production context. */
export interface HandlerTools {
  /** The process it runs in. */
  readonly actor: string;
  /** That process's clock: its sleeps are frozen and killed with the process. */
  readonly clock: Clock;
  readonly topology: Topology;
  /** What the handler does with the record of that name; repaired causes no longer fail. */
  planOf(name: string): HandlerPlan;
  /** Call it when a handler starts, for the history. */
  handling(name: string, attempt: number, fence: number | null, lane: SimLane): void;
  /** How much older the event time of a record is than its notification. */
  lateMsOf(name: string): number;
  /** Call it with what the context answered, for the history. */
  drew(name: string, fence: number | null, values: DrawnValues): void;
  /** Call it with what the handler got, in worlds with an archive. */
  read?(name: string, content: string): void;
  /** How much older the event time function says that a record is, at this call. */
  driftMsOf(name: string): number;
}

export interface WorldParts {
  /** One pipeline per process. */
  readonly createPipeline: (tools: HandlerTools) => Pipeline;
  readonly createConsumer: typeof createConsumer;
  readonly createLeaseRenewer: typeof createLeaseRenewer;
  readonly createProducer: typeof createProducer;
  readonly createRelay: typeof createRelay;
  readonly createLedger: typeof createMemoryLedger;
  readonly createOutbox: typeof createMemoryOutbox;
  readonly createBrokerStore: typeof createMemoryBrokerStore;
  readonly createMessageArchive: typeof createMessageArchive;
  readonly runBackfill: typeof runBackfill;
  readonly runAudit: typeof runAudit;
}

export const PRODUCTION_PARTS: WorldParts = {
  createPipeline: createSimPipeline,
  createConsumer,
  createLeaseRenewer,
  createProducer,
  createRelay,
  createLedger: createMemoryLedger,
  createOutbox: createMemoryOutbox,
  createBrokerStore: createMemoryBrokerStore,
  createMessageArchive,
  runBackfill,
  runAudit,
};
