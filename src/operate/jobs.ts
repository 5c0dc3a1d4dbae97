// Jobs: the jobs of a batch, registered, listed and retried, and swept when they are stuck.
//   J1. Lists send nothing. They mark jobs done that the ledger has committed.
//   J2. A retry redrives the dead letters of the batch's jobs, and of no others.

import { refuseConfig } from "../core/errors.ts";
import { type DurationMs, durationMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import { systemPorts } from "../platform/index.ts";
import {
  type Batches,
  createBatches,
  type JobInputs,
  type RegisterBatchResult,
} from "../produce/batches.ts";
import { type GroupStrategy, perEntity } from "../produce/group-strategy.ts";
import {
  type BatchJob,
  type BatchReport,
  createJobRegistry,
  type Job,
  type JobRegistry,
} from "../produce/jobs.ts";
import { createSweeper, type SweepReport } from "../produce/sweeper.ts";
import { deadLettersOf } from "./dead-letters.ts";
import type { Sources } from "./sources.ts";

export type { JobInput, JobInputs, LeasedJobs, RegisterBatchResult } from "../produce/batches.ts";
export type { BatchJob, BatchReport, Job, JobStatus } from "../produce/jobs.ts";
export type { SweepReport } from "../produce/sweeper.ts";

/** Options of `register`. */
export interface RegisterOptions {
  /** One message group for all jobs. Default: one group per key. */
  readonly group?: string | undefined;
  /** Replaces a batch of other jobs, unless it is complete. */
  readonly replace?: boolean | undefined;
}

/** Options of `retry`. */
export interface JobRetryOptions {
  /** Leaves dead-lettered jobs where they are. */
  readonly skipDeadLetters?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a retry did with the jobs of a batch that are not done. */
export interface JobRetrySummary {
  readonly sent: number;
  /** Jobs that a consumer is processing; they are left alone. */
  readonly claimed: number;
  readonly redriven: number;
  /** Dead-lettered jobs that were not redriven. */
  readonly deadLettered: number;
  /** Why some jobs could not be sent; null if all were. */
  readonly failed: Error | null;
}

/** Options of `sweep`. */
export interface SweepOptions {
  /** Age at which a sent, unclaimed job is republished. Default: 12 hours. */
  readonly stuckAfterMs?: number | undefined;
}

/** The jobs that are sent to a queue or topic. All of it needs the pipeline that processes them. */
export interface JobAccess {
  /** The name of the queue or topic. */
  target(): Promise<string>;
  /** The batches of the queue, without their jobs. */
  batches(): AsyncIterable<BatchReport>;
  /** Whether a batch is done, with up to `jobsMax` jobs that are not; undefined if unknown. */
  batch(name: string, options?: { readonly jobsMax?: number }): Promise<BatchReport | undefined>;
  /** The job with a business key; undefined if it was never registered. */
  find(key: string): Promise<Job | undefined>;
  /** Registers the jobs of a batch and sends them. Repeat it until it resolves. */
  register(name: string, jobs: JobInputs, options?: RegisterOptions): Promise<RegisterBatchResult>;
  /** Sends the jobs that are not done again; undefined if there is no such batch (J2). */
  retry(name: string, options?: JobRetryOptions): Promise<JobRetrySummary | undefined>;
  /** Sends unsent jobs, and republishes jobs that no consumer has processed. */
  sweep(options?: SweepOptions): Promise<SweepReport>;
  /** The same, again and again until the signal aborts. */
  sweepEvery(
    everyMs: number,
    signal: AbortSignal,
    onReport: (report: SweepReport) => void,
    options?: SweepOptions,
  ): Promise<void>;
}

/** A batch check follows the jobs, so that the redrive itself need not wait. */
const REDRIVE = { followMs: durationMs(0), perSecond: 100 };

export function jobsOf(sources: Sources): JobAccess {
  const registry = () => registryOf(sources);
  const batchesOf = (groups: GroupStrategy) => openBatches(sources, groups);
  return {
    target: () => sources.targetName(),
    async *batches() {
      const jobs = await registry();
      for await (const { name } of jobs.batches()) {
        const report = await jobs.batch(name, { jobsMax: 0 });
        if (report !== undefined) yield report;
      }
    },
    batch: async (name, options) => (await registry()).batch(name, options),
    find: async (key) => (await registry()).findOwn(key),
    async register(name, jobs, { group, replace = false } = {}) {
      const batches = await batchesOf(perEntity(({ dedupeKey }) => group ?? dedupeKey));
      return batches.register(name, jobs, { replace });
    },
    async retry(name, { skipDeadLetters = false, signal } = {}) {
      const batches = await batchesOf(() => ""); // It sends stored rows, which have their groups.
      const report = await batches.retry(name);
      if (report === undefined) return undefined;
      const { sent, claimed, deadLettered: dead, failed } = report;
      const redriven = skipDeadLetters ? 0 : await redrive(sources, dead, signal);
      return { sent, claimed, redriven, deadLettered: dead.length - redriven, failed };
    },
    sweep: async (options = {}) => (await sweeperOf(sources, options)).sweep(),
    async sweepEvery(everyMs, signal, onReport, options = {}) {
      const sweeper = await sweeperOf(sources, options);
      await sweeper.run({ everyMs: durationMs(everyMs), signal }, onReport);
    },
  };
}

async function registryOf(sources: Sources): Promise<JobRegistry> {
  const { clock } = sources;
  const { scope, target, outbox, ledger } = await stores(sources);
  return createJobRegistry({ outbox, ledger, clock }, { target, scope });
}

async function openBatches(sources: Sources, groups: GroupStrategy): Promise<Batches> {
  const { scope, ...ports } = await senderPorts(sources);
  return createBatches(ports, { scope, groups });
}

async function sweeperOf(sources: Sources, { stuckAfterMs: given }: SweepOptions) {
  const { scope, ...ports } = await senderPorts(sources);
  const stuckAfterMs: DurationMs | undefined = given === undefined ? given : durationMs(given);
  return createSweeper(ports, { scope, ...(stuckAfterMs !== undefined && { stuckAfterMs }) });
}

async function stores(sources: Sources) {
  if (!sources.isNamed()) {
    refuseConfig("the pipeline that processes the jobs is unknown; name the pipeline");
  }
  const [scope, target] = [await sources.scope(), await sources.targetName()];
  return { scope, target, outbox: await sources.outbox(), ledger: await sources.writer() };
}

async function senderPorts(sources: Sources) {
  const { clock, random } = sources;
  const { turn } = systemPorts;
  const { scope, outbox, ledger } = await stores(sources);
  return { clock, random, turn, scope, outbox, ledger, target: await sources.target() };
}

/** J2; returns how many were sent back. */
async function redrive(
  sources: Sources,
  jobs: readonly BatchJob[],
  signal: AbortSignal | undefined,
): Promise<number> {
  if (jobs.length === 0) return 0;
  const scope = await sources.scope();
  await sources.queues(() => sources.targetName());
  const keys = new Set(jobs.flatMap(({ key }) => [key, recordKey(scope, key)]));
  const run = deadLettersOf(sources).redrive({ keys }, { ...REDRIVE, signal });
  const { sent, reopened } = await run.result();
  return sent + reopened;
}
