// Consumer parts: creates the stages of a pipeline, the pool and the settler of one consumer.

import { createMask } from "../../core/encoding/mask.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/object-source.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { RowReader } from "../../ports/rows.ts";
import type { Sink } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Turn } from "../../ports/turn.ts";
import type { Stages } from "../pipeline.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { createClaimStage } from "../stages/claim.ts";
import { createCommitStage } from "../stages/commit.ts";
import { createDeadlines, type Deadlines } from "../stages/deadlines.ts";
import { decodeDelivery } from "../stages/decode.ts";
import { createFailStage } from "../stages/fail.ts";
import { createHandleStage } from "../stages/handle.ts";
import { createSettler, type Settler } from "../stages/settle.ts";
import { createSinkBreaker, type SinkBreaker } from "../stages/sink-breaker.ts";
import { createRecordMask } from "../telemetry/record-mask.ts";
import { createTally } from "../telemetry/tally.ts";
import { createDuplicateNotes, type DuplicateNotes } from "./duplicate-notes.ts";
import { createGroupNames } from "./group-names.ts";
import { createKeyedPool, type KeyedPool } from "./keyed-pool.ts";
import { createWatermarkTracker } from "./watermark-tracker.ts";

export interface ConsumerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  readonly queue: Queue;
  /** Null: dead-lettered messages stay in the source queue. */
  readonly deadLetters: Queue | null;
  readonly ledger: Ledger;
  readonly objects: ObjectSource | null;
  readonly rows: RowReader | null;
  readonly sink: Sink | null;
  readonly renewer: LeaseRenewer;
  readonly telemetry: Telemetry;
}

export interface ConsumerParts {
  readonly stages: Stages;
  readonly pool: KeyedPool;
  readonly settler: Settler;
  readonly breaker: SinkBreaker;
  readonly duplicates: DuplicateNotes;
  readonly deadlines: Deadlines;
}

export function createParts(
  ports: ConsumerPorts,
  options: { readonly pipeline: Pipeline; readonly owner: string; readonly runId: string },
  onFree: () => void,
): ConsumerParts {
  const { clock, queue } = ports;
  const { pipeline } = options;
  const { total, perKey } = pipeline.concurrency;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const deadlines = createDeadlines(clock, pipeline.timeoutMs);
  const breaker = createSinkBreaker(ports, queue.name);
  const duplicates = createDuplicateNotes(ports, scope);
  const perGroup = queue.fifo ? 1 : (perKey ?? total);
  return {
    deadlines,
    breaker,
    duplicates,
    pool: createKeyedPool({ total, perGroup, onFree }),
    settler: createSettler(ports, onFree),
    stages: {
      ...createStages(ports, { ...options, scope, deadlines }),
      onOutcome(record, outcome, inFlight) {
        breaker.onOutcome(outcome);
        const repeated = outcome.kind === "done" && /^(duplicate|stale)$/.test(outcome.how);
        if (repeated) duplicates.add(record, outcome.how, inFlight);
      },
    },
  };
}

function createStages(
  ports: ConsumerPorts,
  options: {
    readonly pipeline: Pipeline;
    readonly owner: string;
    readonly runId: string;
    readonly scope: { readonly pipeline: string; readonly generation: number };
    readonly deadlines: Deadlines;
  },
): Omit<Stages, "onOutcome"> {
  const { queue, sink, telemetry } = ports;
  const { pipeline, runId, deadlines } = options;
  const auto = pipeline.lease === "auto" && sink?.mode === "transactional";
  // An idempotent sink writes before the commit, so it needs a fence from the ledger (C4).
  const receiptIsEnough = auto || (pipeline.lease === "receipt" && sink?.mode !== "idempotent");
  const leaseMs = pipeline.visibilityMs;
  const mask = createMask(pipeline.mask);
  const masked = createRecordMask(mask);
  return {
    clock: ports.clock,
    random: ports.random,
    tally: createTally({ ...ports, masked }, { queue: queue.name, runId }),
    watermark: createWatermarkTracker(ports, options),
    halting: queue.fifo,
    attemptsMax: pipeline.retry.attempts,
    decode: (inFlight) => decodeDelivery(pipeline, inFlight.delivery),
    groupOf: createGroupNames({ telemetry, mask, masked }, pipeline, queue.fifo),
    claim: createClaimStage(ports, { ...options, leaseMs, receiptIsEnough }),
    handle: createHandleStage({ ...ports, deadlines, mask, masked }, options),
    commit: createCommitStage({ ...ports, deadlines }, options),
    fail: createFailStage({ ...ports, mask, masked }, { ...options, queue }),
  };
}
