// Consumer parts: creates the stages of a pipeline and the pool, for a consumer or a batch runner.

import { createMask, type Mask } from "../../core/encoding/mask.ts";
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
import type { Sink, StagedRows, StagedRowsRequest } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Turn } from "../../ports/turn.ts";
import { createRecordArchive } from "../archive/archive-record.ts";
import type { Stages } from "../pipeline.ts";
import { longestLeaseMs } from "../policy/retry.ts";
import type { QuarantineRef } from "../quarantine/quarantine.ts";
import { createQuarantine, readQuarantine } from "../quarantine/store-quarantine.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { createSinkLimit } from "../stages/attempt.ts";
import { type Claim, type ClaimStage, createClaimStage } from "../stages/claim.ts";
import { createCommitStage } from "../stages/commit.ts";
import { createConfirmStage, type VersionOrder } from "../stages/confirm.ts";
import { createDeadlines, type Deadlines } from "../stages/deadlines.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { createDecoder } from "../stages/decode-limit.ts";
import {
  createEventTimes,
  type EventTimes,
  type RecordedTime,
  recordedEventTimes,
} from "../stages/event-time.ts";
import { createFailStage } from "../stages/fail.ts";
import { createHandleStage } from "../stages/handle.ts";
import { createLateStage, type LateStage } from "../stages/late.ts";
import { createPrepareStage } from "../stages/prepare.ts";
import { createInputs } from "../stages/record-input.ts";
import { createSinkBreaker, type SinkBreaker } from "../stages/sink-breaker.ts";
import { createAttemptsStep } from "../steps/attempts.ts";
import { createCommitStep } from "../steps/commit.ts";
import { createConfirmStep } from "../steps/confirm.ts";
import { createEventTimeStep } from "../steps/event-time.ts";
import { createGovernStep } from "../steps/govern.ts";
import { createHandleStep } from "../steps/handle.ts";
import { createLateStep } from "../steps/late.ts";
import { createPrepareStep } from "../steps/prepare.ts";
import { createRefusals, type Refusals } from "../steps/refused.ts";
import { createStopRenewal } from "../steps/stop-renewal.ts";
import { createRecordMask, type RecordMask } from "../telemetry/record-mask.ts";
import { createStepTelemetry } from "../telemetry/step-telemetry.ts";
import { createTally } from "../telemetry/tally.ts";
import { createDuplicateNotes, type DuplicateNotes } from "./duplicate-notes.ts";
import { createGroupNames } from "./group-names.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";
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
  /** The queue of `eventTime.late`; null or absent without one. */
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

/** What is opened for a pipeline outside of its consumer; of the queue, its name and kind only. */
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
  /** Called before each run of the handler. */
  readonly onHandle?: (inFlight: InFlightDelivery) => void;
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
  const { clock, random, queue, ledger, telemetry } = ports;
  const { pipeline } = options;
  const { total, perKey } = pipeline.concurrency;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const deadlines = createDeadlines(clock, pipeline.timeoutMs);
  const breaker = createSinkBreaker({ clock, random, telemetry }, queue.name);
  const duplicates = createDuplicateNotes({ clock, ledger }, scope);
  const rekeyed = createRekeyedNotes({ clock, ledger }, scope);
  const perGroup = queue.fifo ? 1 : (perKey ?? total);
  const onOutcome: Stages["onOutcome"] = (record, outcome, inFlight) => {
    breaker.onOutcome(outcome);
    const repeated = outcome.kind === "done" && /^(duplicate|stale)$/.test(outcome.how);
    if (repeated) duplicates.add(record, outcome.how, inFlight);
    if (outcome.kind === "done") void rekeyed(record, inFlight);
  };
  const pool = createKeyedPool({ total, perGroup, onFree });
  const stages = createStages(ports, options, { scope, deadlines, onOutcome });
  return { scope, deadlines, breaker, duplicates, pool, stages };
}

/** An idempotent sink writes before the commit, so it needs a fence from the ledger (C4). */
function trustsReceipt({ lease }: Pipeline, sink: Sink | null): boolean {
  if (lease === "auto") return sink?.mode === "transactional";
  return lease === "receipt" && sink?.mode !== "idempotent";
}

interface Shared {
  readonly scope: LedgerScope;
  readonly deadlines: Deadlines;
  readonly onOutcome: Stages["onOutcome"];
}

function createStages(ports: StagePorts, options: PartsOptions, shared: Shared): Stages {
  const { clock, random, queue, ledger, telemetry, callLimit = null, onCommitted } = ports;
  const { pipeline, runId, owner } = options;
  const { scope, onOutcome } = shared;
  const decode = createDecoder(callLimit, pipeline);
  const masks = masksOf(pipeline);
  const { mask, masked } = masks;
  const watermark =
    options.watermark ??
    createWatermarkTracker({ clock, ledger, telemetry }, { pipeline, scope, owner });
  const tally = createTally(
    { clock, telemetry, masked, onCommitted },
    { queue: queue.name, runId, logCommits: pipeline.logCommits },
  );
  const late = createLateStage(
    { clock, random, ledger, telemetry, masked, lateQueue: ports.lateQueue ?? null },
    { pipeline, scope, owner, runId, queue },
  );
  const claim = createClaim(ports, options, { scope, masks, watermark, late });
  const refused = createRefusals({ clock, random }, longestLeaseMs(pipeline));
  return {
    decode: ({ delivery }) => decode(delivery),
    groupOf: createGroupNames({ telemetry, mask, masked }, pipeline, queue.fifo),
    times: createTimes(ports, options, masks),
    claim,
    steps: createSteps(ports, options, { ...shared, masks, watermark, late, claim, refused }),
    fail: createFailStage(
      { clock, random, ledger, deadLetters: ports.deadLetters, telemetry, mask, masked },
      { pipeline, scope, owner, runId, queue },
    ),
    refused,
    late,
    watermark,
    tally,
    telemetry: createStepTelemetry(tally, clock),
    halting: queue.fifo,
    onOutcome,
  };
}

function createClaim(
  { clock, ledger, renewer, turn, queue, sink }: StagePorts,
  { pipeline, owner, runId, laneOf, leaseMs = () => pipeline.visibilityMs }: PartsOptions,
  built: Pick<Built, "scope" | "masks" | "watermark" | "late">,
): ClaimStage {
  const { scope, watermark, late, masks } = built;
  const inputOf = createInputs(masks, {
    queue: queue.name,
    runId,
    placeOf: (record) => ({
      partition: record.partition ?? "",
      lane: laneOf?.(record) ?? laneBy(watermark, record),
    }),
  });
  const receiptIsEnough = trustsReceipt(pipeline, sink);
  return createClaimStage(
    { clock, ledger, renewer, turn, inputOf },
    { scope, owner, leaseMs, receiptIsEnough, routes: late.routes },
  );
}

/** What the steps share. */
interface Built {
  readonly scope: LedgerScope;
  readonly deadlines: Deadlines;
  readonly masks: Masks;
  readonly watermark: WatermarkTracker;
  readonly late: LateStage;
  readonly claim: ClaimStage;
  readonly refused: Refusals;
}

function createSteps(ports: StagePorts, options: PartsOptions, built: Built): Stages["steps"] {
  const { clock, ledger, objects, rows, sink, telemetry, turn, archive = null } = ports;
  const { pipeline, owner, runId, isNewer = null, onHandle = () => undefined } = options;
  const { scope, deadlines, masks } = built;
  const { mask, masked } = masks;
  const queue = ports.queue.name;
  const { attempts } = pipeline.retry;
  const openStaged = stagedRowsOpener(sink, ledger, pipeline, owner);
  const rowsOf = (ref: QuarantineRef) => readQuarantine(ledger, scope, ref);
  const handle = createHandleStage(
    { objects, rows, telemetry, deadlines, mask, masked, openStaged, readQuarantine: rowsOf },
    { pipeline, runId },
  );
  const quarantine = createQuarantine({ clock, ledger, masked }, { scope, owner, pipeline, queue });
  const inTime = createSinkLimit(deadlines, pipeline.timeoutMs);
  const archiveRecord = createRecordArchive(archive, inTime);
  const prepare = createPrepareStage(
    { clock, sink, inTime, quarantine, archive: archiveRecord },
    pipeline,
  );
  const commit = createCommitStage({ clock, ledger, turn }, { scope, owner });
  const confirm = createConfirmStage({ objects, deadlines, ledger }, { scope, isNewer });
  const stopRenewal = createStopRenewal(built.claim);
  return {
    govern: createGovernStep(handle, attempts),
    attempts: createAttemptsStep(attempts),
    eventTime: createEventTimeStep(built.watermark),
    late: createLateStep(built.late, stopRenewal),
    confirm: createConfirmStep(confirm),
    handle: createHandleStep(handle, onHandle),
    prepare: createPrepareStep(prepare),
    stopRenewal,
    commit: createCommitStep(commit, built.refused),
  };
}

function createTimes(
  { clock, objects, telemetry, queue }: StagePorts,
  { pipeline, timeOf }: PartsOptions,
  { mask, masked }: Masks,
): EventTimes {
  const ports = { clock, objects, telemetry, mask, masked };
  const times = createEventTimes(ports, { pipeline, queue: queue.name });
  return timeOf === undefined ? times : recordedEventTimes(times, timeOf);
}

function laneBy(watermark: WatermarkTracker, { eventTime, object }: WorkRecord): LaneDecision {
  return object?.listed === true ? LISTED_LANE : watermark.decide(eventTime);
}

interface Masks {
  readonly mask: Mask;
  readonly masked: RecordMask;
}

function masksOf(pipeline: Pipeline): Masks {
  const mask = createMask(pipeline.mask);
  return { mask, masked: createRecordMask(mask) };
}

/** What a listing finds is old by nature, not late. */
const LISTED_LANE: LaneDecision = { lane: "live", watermark: null };

/** Beyond the handler's timeout, for a commit that waits or takes long. */
const STAGE_GRACE_MS: DurationMs = hours(2);

/** Begins to stage rows for attempts, if the sink has a database for them. */
function stagedRowsOpener(
  sink: Sink | null,
  ledger: Ledger,
  pipeline: Pipeline,
  owner: string,
): ((record: WorkRecord, claim: Claim) => StagedRows) | null {
  const requestOf = ({ key }: WorkRecord, { fence, startedAt }: Claim): StagedRowsRequest => {
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
