// World parts: the production code that a world is made of, by name. Whoever wants to see what the
// simulator makes of a broken part puts another in its place; everybody else takes these.

import { createConsumer } from "../ingest/running/consumer.ts";
import { createLeaseRenewer } from "../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { Clock } from "../ports/clock.ts";
import { createProducer } from "../produce/producer.ts";
import { createRelay } from "../produce/relay.ts";
import { createMemoryBrokerStore } from "../stores/memory/broker-store.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { createMemoryOutbox } from "../stores/memory/outbox.ts";
import { createSimPipeline } from "./hosts/sim-pipeline.ts";
import type { Topology } from "./topology.ts";
import type { HandlerPlan } from "./workload.ts";

/** What a handler in the world may use besides what production gives it. */
export interface HandlerTools {
  /** The process it runs in. */
  readonly actor: string;
  /** That process's clock: what sleeps by it is frozen and killed with it. */
  readonly clock: Clock;
  readonly topology: Topology;
  /** What the record of that name is to do; mended causes are out of it. */
  planOf(name: string): HandlerPlan;
  /** To be called when a handler begins, for the history. */
  handling(name: string, attempt: number, fence: number | null): void;
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
};
