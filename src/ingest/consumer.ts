// Consumer: the pipeline at work on one queue, from start to drained.
//   U1. What is in hand is bounded, and every delivery in hand is renewed until it is settled.
//   U2. Draining takes nothing new, hands back what has not begun, and waits for what has: first
//       politely, then by aborting it. No acknowledgement is lost on the way.
//   U3. Stopping at once is safe as well: what was not told to the queue comes back by itself, and
//       what was committed is known as a duplicate then.

import { createMask } from "../core/mask.ts";
import { type DurationMs, durationMs, type EpochMs, msBetween, seconds } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { LeaseKeeper } from "../ports/lease-keeper.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ObjectSource } from "../ports/object-source.ts";
import type { Delivery, Queue } from "../ports/queue-receiver.ts";
import type { Random } from "../ports/random.ts";
import type { RowReader } from "../ports/rows.ts";
import type { Sink } from "../ports/sink.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Turn } from "../ports/turn.ts";
import { createClaimStage } from "./claim.ts";
import { createCommitStage } from "./commit.ts";
import { createDeadlines } from "./deadlines.ts";
import { decodeDelivery } from "./decode.ts";
import type { Pipeline } from "./define-pipeline.ts";
import { createDuplicateNotes } from "./duplicate-notes.ts";
import { createFailStage } from "./fail.ts";
import { createHandleStage } from "./handle.ts";
import { type Hold, holdDelivery, Stopping } from "./hold.ts";
import { createLaneNames } from "./lane-names.ts";
import { createLanes } from "./lanes.ts";
import { CONSUMER_METRICS as METRICS } from "./metrics.ts";
import type { Counts } from "./outcome-counts.ts";
import { runDelivery, type Stages } from "./pipeline.ts";
import { grantedDelayMs } from "./policy/retry.ts";
import { createReceiver } from "./receive.ts";
import { createSettler, type Settlement } from "./settle.ts";
import { createSinkBreaker } from "./sink-breaker.ts";
import { createTally } from "./tally.ts";
import { createWatermarkTracker } from "./watermark-tracker.ts";

export interface ConsumerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  readonly queue: Queue;
  /** Null leaves what was given up on in its own queue. */
  readonly deadLetters: Queue | null;
  readonly ledger: Ledger;
  readonly objects: ObjectSource | null;
  readonly rows: RowReader | null;
  readonly sink: Sink | null;
  readonly keeper: LeaseKeeper;
  readonly telemetry: Telemetry;
}

export interface ConsumerOptions {
  readonly pipeline: Pipeline;
  /** Names this consumer in the ledger; no two that live at once may share it. */
  readonly owner: string;
  readonly runId: string;
  /** How long draining waits for what has begun. */
  readonly drainMs?: DurationMs;
}

export interface ConsumerSnapshot extends Readonly<Counts> {
  readonly inFlight: number;
  readonly waiting: number;
  readonly breaker: "closed" | "open" | "half-open";
  readonly watermark: EpochMs | null;
  readonly oldestUnsettledAt: EpochMs | null;
}

export interface Consumer {
  start(): Promise<void>;
  /** Takes nothing new, lets what has begun come to an end, and resolves when all is told (U2). */
  drain(): Promise<void>;
  /** Stops at once (U3). */
  stop(): Promise<void>;
  /** Resolves when nothing is in hand and everything was told to the queue. */
  idle(): Promise<void>;
  snapshot(): ConsumerSnapshot;
}

export const DRAIN_MS_DEFAULT: DurationMs = seconds(25);
/** How long aborted work may take to be given back. */
const GIVE_BACK_MS: DurationMs = seconds(2);
/** Deliveries in hand beyond those at work: one receive (U1). */
const PREFETCH = 10;
const RECEIVES_MAX = 8;
const REPORT_MS: DurationMs = seconds(5);

/**
 * Pulls from `queue` and commits the effects of the pipeline's handler once per record key. The
 * handler itself may run again after a failure, a crash or a lost lease: keep effects inside the
 * sink.
 */
export function createConsumer(ports: ConsumerPorts, options: ConsumerOptions): Consumer {
  const { clock, random, queue, ledger, keeper, telemetry, sink } = ports;
  const { pipeline, owner, runId, drainMs = DRAIN_MS_DEFAULT } = options;
  const { total, perKey } = pipeline.concurrency;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const inHand = new Set<Hold>();
  const closing = new AbortController();
  let draining = false;
  let onEmpty: (() => void)[] = [];

  const deadlines = createDeadlines(clock, pipeline.timeoutMs);
  const settler = createSettler({ clock, queue, telemetry });
  const tally = createTally({ clock, telemetry }, { queue: queue.name, runId });
  const breaker = createSinkBreaker({ clock, random, telemetry }, queue.name);
  const duplicates = createDuplicateNotes({ clock, ledger }, scope);
  const watermark = createWatermarkTracker({ clock, ledger, telemetry }, { pipeline, scope });
  const lanes = createLanes({
    total,
    perLane: queue.fifo ? 1 : (perKey ?? total),
    onFree: () => receiver.wake(),
  });
  const receiver = createReceiver(
    { clock, random, queue, telemetry },
    {
      visibilityMs: pipeline.visibilityMs,
      receivesMax: Math.min(RECEIVES_MAX, Math.ceil(total / PREFETCH)),
      room: () => Math.max(total, PREFETCH) + PREFETCH - inHand.size,
      pausedForMs: () => breaker.pausedForMs(),
      onAsked: () => breaker.asked(),
      onNothing: () => breaker.ended(),
      take,
    },
  );
  const stages = createStages();

  function createStages(): Stages {
    const mask = createMask(pipeline.mask);
    const receiptIsEnough =
      pipeline.lease === "receipt" || (pipeline.lease === "auto" && sink?.mode === "transactional");
    const leaseMs = pipeline.visibilityMs;
    return {
      clock,
      random,
      tally: {
        ...tally,
        outcome(record, outcome, hold) {
          tally.outcome(record, outcome, hold);
          breaker.heard(outcome);
          const { kind } = outcome;
          if (kind === "done" && (outcome.how === "duplicate" || outcome.how === "stale")) {
            duplicates.add(record, outcome.how, hold);
          }
        },
      },
      watermark,
      halting: queue.fifo,
      attemptsMax: pipeline.retry.attempts,
      decode: (hold) => decodeDelivery(pipeline, hold.delivery),
      laneOf: createLaneNames(pipeline, queue.fifo, telemetry),
      claim: createClaimStage(ports, { scope, owner, leaseMs, receiptIsEnough }),
      handle: createHandleStage({ ...ports, deadlines }, { pipeline, runId }),
      commit: createCommitStage(ports, { scope, owner }),
      fail: createFailStage({ ...ports, mask }, { pipeline, scope, owner, runId, queue }),
    };
  }

  function take(delivery: Delivery, askedAt: EpochMs): void {
    const hold = holdDelivery(keeper, { delivery, receivedAt: askedAt });
    inHand.add(hold);
    tally.received(hold);
    if (draining) settle(hold, { kind: "return", delayMs: durationMs(0) });
    else void runDelivery(stages, lanes, hold).then((settlement) => settle(hold, settlement));
  }

  function settle(hold: Hold, settlement: Settlement): void {
    hold.drop();
    const heldMs = msBetween(hold.receivedAt, clock.now());
    settler.settle(hold.delivery, withinGrant(settlement, heldMs));
    tally.settled(hold, settlement.kind === "delete");
    inHand.delete(hold);
    if (inHand.size === 0) breaker.ended();
    receiver.wake();
    if (inHand.size > 0) return;
    const told = onEmpty;
    onEmpty = [];
    for (const tell of told) tell();
  }

  /** SQS hides a delivery for twelve hours from its receipt and no longer. */
  function withinGrant(settlement: Settlement, heldMs: number): Settlement {
    if (settlement.kind !== "return") return settlement;
    return { kind: "return", delayMs: grantedDelayMs(settlement.delayMs, heldMs) };
  }

  function empty(): Promise<void> {
    if (inHand.size === 0) return Promise.resolve();
    return new Promise((resolve) => onEmpty.push(resolve));
  }

  /** Resolves when nothing is in hand, or the time is up. */
  async function emptyWithin(spanMs: DurationMs): Promise<void> {
    const waited = new AbortController();
    const timer = clock.sleep(spanMs, waited.signal).catch(() => undefined);
    await Promise.race([empty(), timer]);
    waited.abort();
  }

  async function report(): Promise<void> {
    while (!closing.signal.aborted) {
      const oldest = tally.oldestUnsettledAt();
      const age = oldest === null ? 0 : Math.max(0, clock.now() - oldest) / 1_000;
      telemetry.gauge(METRICS.oldestUnsettled.name, age, { queue: queue.name });
      telemetry.gauge(METRICS.inFlight.name, lanes.running, { queue: queue.name });
      await watermark.save();
      await reportDeadLetters();
      await clock.sleep(REPORT_MS, closing.signal).catch(() => undefined);
    }
  }

  async function reportDeadLetters(): Promise<void> {
    const { deadLetters } = ports;
    const facts = await deadLetters?.facts().catch(() => undefined);
    if (deadLetters === null || facts === undefined) return;
    const depth = facts.visible + facts.hidden + facts.delayed;
    telemetry.gauge(METRICS.deadLetterDepth.name, depth, { queue: deadLetters.name });
  }

  async function finish(): Promise<void> {
    for (const hold of inHand) hold.abort(new Stopping("the consumer stops"));
    await emptyWithin(GIVE_BACK_MS);
    await settler.flush();
    await duplicates.flush();
    await watermark.save();
    closing.abort();
    deadlines.close();
    await keeper.close();
  }

  return {
    async start() {
      await watermark.restore();
      receiver.start();
      void report();
    },
    async drain() {
      draining = true;
      const received = receiver.stop();
      lanes.skipWaiting();
      await received;
      await emptyWithin(drainMs); // U2
      await finish();
    },
    async stop() {
      draining = true;
      void receiver.stop();
      lanes.skipWaiting();
      await finish(); // U3
    },
    async idle() {
      await empty();
      await settler.flush();
      await duplicates.flush();
    },
    snapshot: () => ({
      ...tally.counts,
      inFlight: lanes.running,
      waiting: lanes.waiting,
      breaker: breaker.kind(),
      watermark: watermark.value(),
      oldestUnsettledAt: tally.oldestUnsettledAt(),
    }),
  };
}
