// `tidegate/produce`: producers that send every event once, relays and sweepers.

import * as batches from "../produce/batches.ts";
import * as jobs from "../produce/jobs.ts";
import * as producer from "../produce/producer.ts";
import * as relay from "../produce/relay.ts";
import * as sweeper from "../produce/sweeper.ts";
import { type PlainOptions, type SystemPorts, withSystemDefaults } from "./system-defaults.ts";

export { TidegateError } from "../core/errors.ts";
export {
  type BuiltEnvelope,
  buildEnvelope,
  type EnvelopeInput,
  envelopeKey,
  type MessageEnvelope,
  messageDedupId,
  validateEnvelope,
} from "../core/events/envelope.ts";
export type { TraceContext } from "../core/events/trace-context.ts";
export type { JobBatch } from "../ports/batches.ts";
export type { Clock } from "../ports/clock.ts";
export type { Random } from "../ports/random.ts";
export type { Turn } from "../ports/turn.ts";
export type {
  Batches,
  JobInput,
  JobInputs,
  RegisterBatchResult,
  RetryReport,
} from "../produce/batches.ts";
export { withPayload } from "../produce/claim-check.ts";
export {
  fixedGroups,
  type GroupStrategy,
  perEntity,
  perTenant,
} from "../produce/group-strategy.ts";
export type { BatchJob, BatchReport, Job, JobRegistry, JobStatus } from "../produce/jobs.ts";
export { PRODUCER_METRICS } from "../produce/metrics.ts";
export type { EventInput, OwnMessage, SendContext } from "../produce/prepare.ts";
export type { Producer, SendResult } from "../produce/producer.ts";
export type { Relay, RelayReport } from "../produce/relay.ts";
export { type SendFailure, sendAll } from "../produce/send-all.ts";
export type { Sweeper, SweepReport } from "../produce/sweeper.ts";

type WithDefaults<Ports> = Omit<Ports, keyof SystemPorts> &
  Pick<SystemPorts, keyof Ports & keyof SystemPorts>;
/** `onPoint` is for tests that kill the process at a named point. */
type PublicOptions<Options> = PlainOptions<Omit<Options, "onPoint">>;

/** What a producer works on; clock, random and turn have defaults. */
export type ProducerPorts = WithDefaults<producer.ProducerPorts>;
/** Options of `createProducer`; all have defaults. */
export type ProducerOptions = PublicOptions<producer.ProducerOptions>;
/** What a relay works on; clock, random and turn have defaults. */
export type RelayPorts = WithDefaults<relay.RelayPorts>;
/** Options of `createRelay`; all have defaults. */
export type RelayOptions = PublicOptions<relay.RelayOptions>;
/** The outbox and the ledger that the registry reads; the clock has a default. */
export type JobRegistryPorts = WithDefaults<jobs.RegistryPorts>;
/** Where the jobs are sent to, and which pipeline processes them. */
export type JobRegistryOptions = jobs.RegistryOptions;
/** What batches work on; clock, random and turn have defaults. */
export type BatchesPorts = WithDefaults<batches.BatchesPorts>;
/** Options of `createBatches`; only `scope` is required, and `groups` for a FIFO target. */
export type BatchesOptions = PublicOptions<batches.BatchesOptions>;
/** What a sweeper works on; clock, random and turn have defaults. */
export type SweeperPorts = WithDefaults<sweeper.SweeperPorts>;
/** Options of `createSweeper`; only `scope` is required. */
export type SweeperOptions = PublicOptions<sweeper.SweeperOptions>;

/** A producer registers each event in the outbox, sends it to the target and marks it sent. */
export function createProducer(
  ports: ProducerPorts,
  options: ProducerOptions = {},
): producer.Producer {
  return producer.createProducer(withSystemDefaults(ports), options);
}

/** A relay sends pending outbox rows of producers that crashed. */
export function createRelay(ports: RelayPorts, options: RelayOptions = {}): relay.Relay {
  return relay.createRelay(withSystemDefaults(ports), options as relay.RelayOptions);
}

/** A job registry reports the state of an event from outbox and ledger. */
export function createJobRegistry(
  ports: JobRegistryPorts,
  options: JobRegistryOptions,
): jobs.JobRegistry {
  return jobs.createJobRegistry(withSystemDefaults(ports), options);
}

/** Batches are named sets of jobs: they are registered and sent together, and checked by name. */
export function createBatches(ports: BatchesPorts, options: BatchesOptions): batches.Batches {
  return batches.createBatches(withSystemDefaults(ports), options as batches.BatchesOptions);
}

/** A sweeper sends unsent jobs and republishes jobs that are stuck. */
export function createSweeper(ports: SweeperPorts, options: SweeperOptions): sweeper.Sweeper {
  return sweeper.createSweeper(withSystemDefaults(ports), options as sweeper.SweeperOptions);
}
