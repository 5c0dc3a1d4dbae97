// Consumer parts: creates the stages of a pipeline and the pool, for a consumer or a batch runner.

import { createMask } from "../../core/encoding/mask.ts";
import { addMs, type DurationMs, durationMs, type EpochMs, hours } from "../../core/units.ts";
import type { CallLimit } from "../../ports/call-limit.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { LaneDecision, LedgerScope } from "../../ports/record.ts";
import type { RowReader } from "../../ports/rows.ts";
import type { Sink, Stage, StageRequest } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Turn } from "../../ports/turn.ts";
import type { Stages } from "../pipeline.ts";
import { longestLeaseMs } from "../policy/retry.ts";
import { readQuarantine } from "../quarantine/store-quarantine.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { type Claim, createClaimStage } from "../stages/claim.ts";
import { createCommitStage } from "../stages/commit.ts";
import { createConfirmStage, type VersionOrder } from "../stages/confirm.ts";
import { createDeadlines, type Deadlines } from "../stages/deadlines.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { createDecoder } from "../stages/decode-limit.ts";
import { createEventTimes, type RecordedTime, recordedEventTimes } from "../stages/event-time.ts";
import { createFailStage } from "../stages/fail.ts";
import { createHandleStage } from "../stages/handle.ts";
import { createLateStage } from "../stages/late.ts";
import { createInputs } from "../stages/record-input.ts";
import { createSinkBreaker, type SinkBreaker } from "../stages/sink-breaker.ts";
import { createRecordMask } from "../telemetry/record-mask.ts";
import { createTally } from "../telemetry/tally.ts";
import { createDuplicateNotes, type DuplicateNotes } from "./duplicate-notes.ts";
import { createGroupNames } from "./group-names.ts";
import { createKeyedPool, type KeyedPool } from "./keyed-pool.ts";
import { createRekeyedNotes } from "./rekeyed-notes.ts";
import { createWatermarkTracker, type WatermarkTracker } from "./watermark-tracker.ts";

export interface ConsumerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  readonly queue: Queue;
  /** Null: dead-lettered messages stay in the source queue. */
  readonly deadLetters: Queue | null;
  /** The queue of `late: { queue }`; null or absent without one. */
  readonly lateQueue?: QueueSender | null;
  /** Ends functions of the user that never return; null or absent: nothing ends them. */
  readonly callLimit?: CallLimit | null;
  readonly ledger: Ledger;
  readonly objects: ObjectSource | null;
  readonly rows: RowReader | null;
  readonly sink: Sink | null;
  /** Keeps messages for replays; null or absent: they are not kept. */
  readonly archive?: MessageArchive | null;
  readonly renewer: LeaseRenewer;
  readonly telemetry: Telemetry;
  /** Called with the event time of every committed record. */
  readonly onCommitted?: (eventTime: EpochMs) => void;
}

/** What the stages need; of the queue, its name and its kind only. */
export interface StagePorts extends Omit<ConsumerPorts, "queue"> {
  readonly queue: Pick<Queue, "name" | "fifo">;
}

export interface PartsOptions {
  readonly pipeline: Pipeline;
  readonly owner: string;
  readonly runId: string;
  /** How long a claim made now lasts. Default: the visibility timeout of the pipeline. */
  readonly leaseMs?: () => DurationMs;
  /** The lane that was decided before, as in a replay. Default: the watermark decides. */
  readonly laneOf?: (record: WorkRecord) => LaneDecision;
  /** The event time that was recorded before, as in a replay. Default: the pipeline finds it. */
  readonly timeOf?: (record: WorkRecord) => RecordedTime | null;
  /** Default: the shared watermark of the pipeline. */
  readonly watermark?: WatermarkTracker;
  /** The order of listed versions. Default: only the bucket's current version is applied. */
  readonly isNewer?: VersionOrder;
}

export interface ConsumerParts {
  readonly scope: LedgerScope;
  readonly stages: Stages;
  readonly pool: KeyedPool;
  readonly breaker: SinkBreaker;
  readonly duplicates: DuplicateNotes;
  readonly deadlines: Deadlines;
}

export function createParts(
  ports: StagePorts,
  options: PartsOptions,
  onFree: () => void,
): ConsumerParts {
  const { clock, queue } = ports;
  const { pipeline } = options;
  const { total, perKey } = pipeline.concurrency;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const deadlines = createDeadlines(clock, pipeline.timeoutMs);
  const breaker = createSinkBreaker(ports, queue.name);
  const duplicates = createDuplicateNotes(ports, scope);
  const rekeyed = createRekeyedNotes(ports, scope);
  const perGroup = queue.fifo ? 1 : (perKey ?? total);
  return {
    scope,
    deadlines,
    breaker,
    duplicates,
    pool: createKeyedPool({ total, perGroup, onFree }),
    stages: {
      ...createStages(ports, { ...options, scope, deadlines }),
      onOutcome(record, outcome, inFlight) {
        breaker.onOutcome(outcome);
        const repeated = outcome.kind === "done" && /^(duplicate|stale)$/.test(outcome.how);
        if (repeated) duplicates.add(record, outcome.how, inFlight);
        if (outcome.kind === "done") void rekeyed(record, inFlight);
      },
    },
  };
}

/** An idempotent sink writes before the commit, so it needs a fence from the ledger (C4). */
function trustsReceipt({ lease }: Pipeline, sink: StagePorts["sink"]): boolean {
  if (lease === "auto") return sink?.mode === "transactional";
  return lease === "receipt" && sink?.mode !== "idempotent";
}

function createStages(
  ports: StagePorts,
  options: PartsOptions & { readonly scope: LedgerScope; readonly deadlines: Deadlines },
): Omit<Stages, "onOutcome"> {
  const { queue, sink, telemetry } = ports;
  const { pipeline, runId, deadlines } = options;
  const receiptIsEnough = trustsReceipt(pipeline, sink);
  const { leaseMs = () => pipeline.visibilityMs } = options;
  const decode = createDecoder(ports.callLimit ?? null, pipeline);
  const { mask, masked } = masksOf(pipeline);
  const watermark = options.watermark ?? createWatermarkTracker(ports, options);
  const inputOf = createInputs(
    { mask, masked },
    {
      queue: queue.name,
      runId,
      placeOf: (record) => ({
        partition: record.partition ?? "",
        lane: options.laneOf?.(record) ?? laneBy(watermark, record),
      }),
    },
  );
  const lateQueue = ports.lateQueue ?? null;
  const late = createLateStage({ ...ports, masked, lateQueue }, { ...options, queue });
  return {
    clock: ports.clock,
    random: ports.random,
    tally: createTally(
      { ...ports, masked },
      { queue: queue.name, runId, logCommits: pipeline.logCommits },
    ),
    watermark,
    late,
    halting: queue.fifo,
    attemptsMax: pipeline.retry.attempts,
    busyMsMax: longestLeaseMs(pipeline),
    decode: ({ delivery }) => decode(delivery),
    times: timesOf({ ...ports, mask, masked }, { ...options, queue: queue.name }),
    groupOf: createGroupNames({ telemetry, mask, masked }, pipeline, queue.fifo),
    claim: createClaimStage(
      { ...ports, inputOf },
      { ...options, leaseMs, receiptIsEnough, routes: late.routes },
    ),
    confirm: createConfirmStage({ ...ports, deadlines }, options),
    handle: createHandleStage(
      {
        ...ports,
        deadlines,
        mask,
        masked,
        openStage: stageOpener(ports, options),
        readQuarantine: (ref) => readQuarantine(ports.ledger, options.scope, ref),
      },
      options,
    ),
    commit: createCommitStage({ ...ports, deadlines, masked }, { ...options, queue: queue.name }),
    fail: createFailStage({ ...ports, mask, masked }, { ...options, queue }),
  };
}

function timesOf(
  ports: Parameters<typeof createEventTimes>[0],
  options: Pick<PartsOptions, "pipeline" | "timeOf"> & { readonly queue: string },
) {
  const times = createEventTimes(ports, options);
  return options.timeOf === undefined ? times : recordedEventTimes(times, options.timeOf);
}

function laneBy(watermark: WatermarkTracker, { eventTime, object }: WorkRecord): LaneDecision {
  return object?.listed === true ? LISTED_LANE : watermark.decide(eventTime);
}

function masksOf(pipeline: Pipeline) {
  const mask = createMask(pipeline.mask);
  return { mask, masked: createRecordMask(mask) };
}

/** What a listing finds is old by nature, not late. */
const LISTED_LANE: LaneDecision = { lane: "live", watermark: null };

/** Beyond the handler's timeout, for a commit that waits or takes long. */
const STAGE_GRACE_MS: DurationMs = hours(2);

/** Opens stages for attempts, if the sink has a database to stage in. */
function stageOpener(
  { sink, ledger }: StagePorts,
  { pipeline, owner }: { readonly pipeline: Pipeline; readonly owner: string },
): ((record: WorkRecord, claim: Claim) => Stage) | null {
  const requestOf = ({ key }: WorkRecord, { fence, startedAt }: Claim): StageRequest => {
    const expiresAt = addMs(startedAt, durationMs(pipeline.timeoutMs + STAGE_GRACE_MS));
    return { key, fence, owner, startedAt, expiresAt };
  };
  if (sink?.mode === "idempotent" && sink.stage !== undefined) {
    const stage = sink.stage.bind(sink);
    return (record, claim) => stage(requestOf(record, claim));
  }
  const { sinkStore } = ledger;
  if (sink?.mode !== "transactional" || sink.stage === undefined || sinkStore === null) return null;
  const stage = sink.stage.bind(sink);
  return (record, claim) => stage(requestOf(record, claim), sinkStore);
}
