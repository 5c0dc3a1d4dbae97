// Consumer: the pipeline at work on one queue, from start to drained.
//   U1. What is in hand is bounded, and so is what the queue is still to be told of. Every delivery
//       in hand is renewed until it is settled.
//   U2. Draining takes nothing new, hands back what has not begun, and waits for what has: first
//       politely, then by aborting it. No acknowledgement is lost on the way. For polls under way
//       it waits as stopping does (U3), and no longer.
//   U3. Stopping at once is safe as well: what was not told to the queue comes back by itself, and
//       what was committed is known as a duplicate then. It too waits for polls under way, though
//       not for ever, so that what they still bring is handed back before it resolves.

import { type DurationMs, durationMs, type EpochMs, msBetween, seconds } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { runDelivery } from "../pipeline.ts";
import { messageOf } from "../policy/error-text.ts";
import { grantedDelayMs } from "../policy/retry.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { createReceiver, type Receiver } from "../stages/receive.ts";
import type { Settlement } from "../stages/settle.ts";
import { guardTelemetry } from "../telemetry/guard-telemetry.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import type { Counts } from "../telemetry/outcome-counts.ts";
import { type ConsumerParts, type ConsumerPorts, createParts } from "./consumer-parts.ts";
import { type InFlightDelivery, Stopping, trackDelivery } from "./in-flight-delivery.ts";

export type { ConsumerPorts } from "./consumer-parts.ts";

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
  /** Stops receiving, lets running handlers finish, and settles everything (U2). */
  drain(): Promise<void>;
  /** Aborts running handlers and settles everything (U3). */
  stop(): Promise<void>;
  /** Resolves when nothing is in flight and every settlement is confirmed. */
  idle(): Promise<void>;
  snapshot(): ConsumerSnapshot;
}

export const DRAIN_MS_DEFAULT: DurationMs = seconds(25);
/** How long a poll that was aborted may take to end: a port that hears no abort keeps nobody. */
const QUIET_MS_MAX: DurationMs = seconds(2);
/** How long aborted work may take to be given back. */
const GIVE_BACK_MS: DurationMs = seconds(2);
/** Deliveries in hand beyond those at work: one receive (U1). */
const PREFETCH = 10;
const RECEIVES_MAX = 8;
/** Settlements that may wait for the queue to hear of them (U1). */
const SETTLING_MAX = 1_000;
const REPORT_MS: DurationMs = seconds(5);
/**
 * What SQS tells of a queue's depth is about a minute old, and every question is paid for: an idle
 * consumer would ask for it four times as often as for messages.
 */
const DEPTH_MS: DurationMs = seconds(60);

/**
 * Pulls from `queue` and commits the effects of the pipeline's handler once per record key. The
 * handler itself may run again after a failure, a crash or a lost lease: keep effects inside the
 * sink.
 */
export function createConsumer(ports: ConsumerPorts, options: ConsumerOptions): Consumer {
  return new QueueConsumer(ports, options);
}

class QueueConsumer implements Consumer {
  readonly #ports: ConsumerPorts;
  readonly #drainMs: DurationMs;
  readonly #parts: ConsumerParts;
  readonly #receiver: Receiver;
  readonly #inFlight = new Set<InFlightDelivery>();
  readonly #closing = new AbortController();
  #draining = false;
  #onEmpty: (() => void)[] = [];

  constructor(ports: ConsumerPorts, options: ConsumerOptions) {
    const { pipeline, drainMs = DRAIN_MS_DEFAULT } = options;
    const { total } = pipeline.concurrency;
    const guarded = { ...ports, telemetry: guardTelemetry(ports.telemetry) };
    this.#ports = guarded;
    this.#drainMs = drainMs;
    this.#parts = createParts(guarded, options, () => this.#receiver.wake());
    const { breaker, settler } = this.#parts;
    this.#receiver = createReceiver(guarded, {
      visibilityMs: pipeline.visibilityMs,
      receivesMax: Math.min(RECEIVES_MAX, Math.ceil(total / PREFETCH)),
      capacity: () =>
        settler.pending >= SETTLING_MAX
          ? 0
          : Math.max(total, PREFETCH) + PREFETCH - this.#inFlight.size, // U1
      pausedForMs: () => breaker.pausedForMs(),
      onReceive: () => breaker.onReceive(),
      onEmpty: () => breaker.onEnd(),
      take: (delivery, since) => this.#take(delivery, since),
    });
  }

  async start(): Promise<void> {
    await this.#parts.stages.watermark.restore();
    this.#receiver.start();
    void this.#report();
  }

  async drain(): Promise<void> {
    this.#draining = true;
    const quiet = this.#receiver.stop();
    this.#parts.pool.skipWaiting();
    await this.#within(QUIET_MS_MAX, quiet);
    await this.#within(this.#drainMs, this.#empty()); // U2
    await this.#finish();
  }

  async stop(): Promise<void> {
    this.#draining = true;
    const quiet = this.#receiver.stop();
    this.#parts.pool.skipWaiting();
    this.#abortAll();
    await this.#within(QUIET_MS_MAX, quiet); // U3
    await this.#finish();
  }

  async idle(): Promise<void> {
    await this.#empty();
    await this.#parts.settler.flush();
    await this.#parts.duplicates.flush();
  }

  snapshot(): ConsumerSnapshot {
    const { pool, breaker, stages } = this.#parts;
    return {
      ...stages.tally.counts,
      inFlight: pool.running,
      waiting: pool.waiting,
      breaker: breaker.kind(),
      watermark: stages.watermark.value(),
      oldestUnsettledAt: stages.tally.oldestUnsettledAt(),
    };
  }

  #take(delivery: Delivery, leaseSince: EpochMs): void {
    const { clock, renewer } = this.#ports;
    const inFlight = trackDelivery(renewer, { delivery, leaseSince, receivedAt: clock.now() });
    const { stages } = this.#parts;
    this.#inFlight.add(inFlight);
    stages.tally.received(inFlight);
    if (this.#draining) this.#settle(inFlight, { kind: "return", delayMs: durationMs(0) });
    else void this.#run(inFlight).then((settlement) => this.#settle(inFlight, settlement));
  }

  /** What cannot even be decoded goes back; the queue's own redrive policy has the last word. */
  async #run(inFlight: InFlightDelivery): Promise<Settlement> {
    const { stages, pool } = this.#parts;
    try {
      return await runDelivery(stages, pool, inFlight);
    } catch (error) {
      const fields = { message_id: inFlight.delivery.messageId, reason: messageOf(error) };
      this.#ports.telemetry.log("error", "a delivery could not be processed", fields);
      return { kind: "return", delayMs: REPORT_MS };
    }
  }

  #settle(inFlight: InFlightDelivery, settlement: Settlement): void {
    const { stages, settler, breaker } = this.#parts;
    inFlight.drop();
    const heldMs = msBetween(inFlight.leaseSince, this.#ports.clock.now());
    settler.settle(inFlight.delivery, withinGrant(settlement, heldMs));
    stages.tally.settled(inFlight, settlement);
    this.#inFlight.delete(inFlight);
    breaker.onEnd(); // A probe has its result, whatever it is; the next may follow.
    this.#receiver.wake();
    if (this.#inFlight.size > 0) return;
    const told = this.#onEmpty;
    this.#onEmpty = [];
    for (const tell of told) tell();
  }

  #empty(): Promise<void> {
    if (this.#inFlight.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  /** Resolves when that has ended, or the time is up. */
  async #within(spanMs: DurationMs, ended: Promise<void>): Promise<void> {
    const waited = new AbortController();
    const timer = this.#ports.clock.sleep(spanMs, waited.signal).catch(() => undefined);
    await Promise.race([ended, timer]);
    waited.abort();
  }

  #abortAll(): void {
    for (const inFlight of this.#inFlight) inFlight.abort(new Stopping("the consumer is stopping"));
  }

  async #finish(): Promise<void> {
    const { settler, duplicates, stages, deadlines } = this.#parts;
    this.#abortAll();
    await this.#within(GIVE_BACK_MS, this.#empty());
    await settler.flush();
    await duplicates.flush();
    await stages.watermark.save();
    this.#closing.abort();
    deadlines.close();
    await this.#ports.renewer.close();
  }

  async #report(): Promise<void> {
    const { clock, queue, telemetry } = this.#ports;
    const { stages, pool } = this.#parts;
    const labels = { queue: queue.name };
    let askedAt = Number.NEGATIVE_INFINITY;
    let lettersThen = 0;
    while (!this.#closing.signal.aborted) {
      const oldest = stages.tally.oldestUnsettledAt();
      const age = oldest === null ? 0 : Math.max(0, clock.now() - oldest) / 1_000;
      telemetry.gauge(METRICS.oldestUnsettled.name, age, labels);
      telemetry.gauge(METRICS.inFlight.name, pool.running, labels);
      await stages.watermark.save();
      const { deadLettered } = stages.tally.counts;
      if (deadLettered !== lettersThen || clock.monotonic() - askedAt >= DEPTH_MS) {
        lettersThen = deadLettered;
        askedAt = clock.monotonic();
        await this.#reportDeadLetters();
      }
      await clock.sleep(REPORT_MS, this.#closing.signal).catch(() => undefined);
    }
  }

  async #reportDeadLetters(): Promise<void> {
    const { deadLetters, telemetry } = this.#ports;
    const facts = await deadLetters?.facts().catch(() => undefined);
    if (deadLetters === null || facts === undefined) return;
    const depth = facts.visible + facts.hidden + facts.delayed;
    telemetry.gauge(METRICS.deadLetterDepth.name, depth, { queue: deadLetters.name });
  }
}

/** SQS hides a delivery for twelve hours from its receipt and no longer. */
function withinGrant(settlement: Settlement, heldMs: number): Settlement {
  if (settlement.kind !== "return") return settlement;
  return { kind: "return", delayMs: grantedDelayMs(settlement.delayMs, heldMs) };
}
