// Consumer: runs a pipeline on one queue, from start until drained.
//   U1. The number of deliveries in flight is bounded, and so is the number of settlements not yet
//       sent to the queue. Every delivery in flight is renewed until it is settled.
//   U2. Draining receives nothing new, returns deliveries that have not begun, and waits for the
//       others; after `drainMs` it aborts them. No acknowledgement is lost. It waits for receives
//       in flight as long as stopping does (U3), and no longer.
//   U3. Stopping immediately is safe, too: the queue redelivers unsettled messages, and the ledger
//       recognises committed ones as duplicates. Stopping waits for receives in flight, for a
//       limited time, so that their messages are returned before it resolves. Code that ignores
//       its aborted signal is abandoned after a moment, and reported (W1 of running-work.ts).
//   U4. A consumer with `messagesMax` receives that many deliveries and no more. `finished` resolves
//       when all of them are settled. `emptied` resolves when a receive returns nothing and nothing
//       is in flight, or when the pipeline is paused and nothing is in flight.
//   U5. While the pipeline is paused, no receive starts and no record begins. A receive that was
//       running may still return messages: they are returned to the queue at once (P3 of pause.ts).

import type { TraceContext } from "../../core/events/trace-context.ts";
import { type DurationMs, durationMs, type EpochMs, msBetween, seconds } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { countHalted } from "../dead-letters/halted-messages.ts";
import { runDelivery } from "../pipeline.ts";
import { messageOf } from "../policy/error-text.ts";
import { grantedDelayMs } from "../policy/retry.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { createReceiver, type Receiver } from "../stages/receive.ts";
import { createSettler, type Settlement, type Settler } from "../stages/settle.ts";
import { FlowGauges } from "../telemetry/flow-gauges.ts";
import { guardTelemetry } from "../telemetry/guard-telemetry.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import type { Counts } from "../telemetry/outcome-counts.ts";
import { type ConsumerParts, type ConsumerPorts, createParts } from "./consumer-parts.ts";
import { type InFlightDelivery, Stopping, trackDelivery } from "./in-flight-delivery.ts";
import { createPauseWatch, type Pause, type PauseWatch } from "./pause.ts";
import { type AbandonedWork, RunningWork } from "./running-work.ts";
import { SYNC_MS } from "./watermark-tracker.ts";

export type { ConsumerPorts } from "./consumer-parts.ts";

export interface ConsumerOptions {
  readonly pipeline: Pipeline;
  /** Names this consumer in the ledger; two consumers that run at the same time need two names. */
  readonly owner: string;
  readonly runId: string;
  /** How long draining waits for running handlers. Default: 25 seconds. */
  readonly drainMs?: DurationMs;
  /** Deliveries to receive in total (U4). Default: no limit. */
  readonly messagesMax?: number | undefined;
  /**
   * "none" receives a delivery only if it can be processed at once, one at a time: for handlers that
   * take long, while other consumers are free. Default: "batches".
   */
  readonly prefetch?: "batches" | "none" | undefined;
}

/** Counts since the consumer started, and its present state. */
export interface ConsumerSnapshot extends Readonly<Counts> {
  /** Deliveries that are being processed. */
  readonly inFlight: number;
  /** Prefetched deliveries that wait for capacity or for their group. */
  readonly waiting: number;
  /** The circuit breaker of sink and ledger; while it is open, nothing is received. */
  readonly breaker: "closed" | "open" | "half-open";
  /** The operator's pause; null while the pipeline may receive. */
  readonly paused: Pause | null;
  /** Null until a record has an event time. */
  readonly watermark: EpochMs | null;
  /** When the oldest event was sent that was received and is not settled; null if there is none. */
  readonly oldestUnsettledAt: EpochMs | null;
}

export interface Consumer {
  start(): Promise<void>;
  /**
   * Stops receiving, lets running handlers finish, and settles everything (U2). Resolves with the
   * code that still runs: it ignores its signal.
   */
  drain(): Promise<readonly AbandonedWork[]>;
  /** Aborts running handlers and settles everything (U3). Resolves as `drain` does. */
  stop(): Promise<readonly AbandonedWork[]>;
  /** Resolves when nothing is in flight and every settlement is confirmed. */
  idle(): Promise<void>;
  /** Resolves when `messagesMax` deliveries are settled (U4). */
  readonly finished: Promise<void>;
  /** Resolves when the queue returned nothing, or is paused, and nothing is in flight (U4). */
  readonly emptied: Promise<void>;
  snapshot(): ConsumerSnapshot;
}

export const DRAIN_MS_DEFAULT: DurationMs = seconds(25);
/** How long an aborted receive may take to end; a port that ignores the abort blocks nothing. */
const QUIET_MS_MAX: DurationMs = seconds(2);
/** How long aborted deliveries may take to be returned. */
const RETURN_MS: DurationMs = seconds(2);
/** How long code may run after its signal was aborted, until it counts as abandoned (U3). */
const UNWIND_MS: DurationMs = seconds(1);
/** Deliveries in flight beyond those that run: one receive (U1). */
const PREFETCH = 10;
const RECEIVES_MAX = 8;
/** Settlements that may wait to be sent to the queue (U1). */
const SETTLING_MAX = 1_000;
const REPORT_MS: DurationMs = seconds(5);
/**
 * SQS reports the depth of a queue about a minute late, and each request costs money: at the
 * interval of reports, an idle consumer would request it four times as often as messages.
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
  readonly #flow: FlowGauges;
  readonly #settler: Settler;
  readonly #receiver: Receiver;
  readonly #pause: PauseWatch;
  readonly #inFlight = new Set<InFlightDelivery>();
  readonly #running: RunningWork;
  readonly #closing = new AbortController();
  readonly #messagesMax: number;
  readonly #finished = Promise.withResolvers<void>();
  readonly #emptied = Promise.withResolvers<void>();
  #settledCount = 0;
  /** Whether the newest receive returned nothing. */
  #receivedNothing = false;
  #draining = false;
  #onEmpty: (() => void)[] = [];

  constructor(ports: ConsumerPorts, options: ConsumerOptions) {
    const { pipeline, drainMs = DRAIN_MS_DEFAULT } = options;
    const { total } = pipeline.concurrency;
    const { queue } = ports;
    const named = { queue: queue.name, fifo: queue.fifo, stream: pipeline.name };
    this.#flow = new FlowGauges({ ...ports, telemetry: guardTelemetry(ports.telemetry) }, named);
    const { telemetry } = this.#flow;
    const onCommitted = (eventTime: EpochMs) => this.#flow.committed(eventTime);
    const guarded = { ...ports, telemetry, onCommitted };
    this.#ports = guarded;
    this.#drainMs = drainMs;
    this.#running = new RunningWork(ports.clock);
    this.#messagesMax = options.messagesMax ?? Number.POSITIVE_INFINITY;
    this.#parts = createParts(guarded, options, () => this.#receiver.wake());
    const { breaker } = this.#parts;
    const { scope } = this.#parts;
    this.#pause = createPauseWatch(guarded, {
      scope,
      queue: ports.queue.name,
      onChange: (pause) => this.#pauseChanged(pause),
    });
    const settler = createSettler(guarded, () => this.#receiver.wake());
    this.#settler = settler;
    const single = options.prefetch === "none";
    const capacity = single ? total : Math.max(total, PREFETCH) + PREFETCH;
    this.#receiver = createReceiver(guarded, {
      visibilityMs: pipeline.visibilityMs,
      batchMax: single ? 1 : PREFETCH,
      receivesMax: Math.min(RECEIVES_MAX, Math.ceil(total / PREFETCH)),
      capacity: () => (settler.pending >= SETTLING_MAX ? 0 : capacity - this.#inFlight.size), // U1
      pausedForMs: () => (this.#pause.current() === null ? breaker.pausedForMs() : null), // U5
      onReceive: () => breaker.onReceive(),
      messagesMax: options.messagesMax,
      onEmpty: (failed) => {
        breaker.onEnd();
        this.#receivedNothing = !failed;
        this.#checkEmptied();
      },
      onReceived: (deliveries) => this.#flow.received(deliveries.map(({ sentAt }) => sentAt)),
      onPolled: (how) => {
        const isLate = ports.lateQueue?.name === ports.queue.name;
        this.#parts.stages.watermark.polled(how, isLate ? "late" : "own");
      },
      take: (delivery, since, { context }) => this.#take(delivery, since, context),
    });
  }

  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  get emptied(): Promise<void> {
    return this.#emptied.promise;
  }

  async start(): Promise<void> {
    await this.#parts.stages.watermark.restore();
    await this.#pause.look();
    this.#receiver.start();
    void this.#pause.keepLooking(this.#closing.signal);
    void this.#report();
    void this.#syncWatermark();
  }

  async drain(): Promise<readonly AbandonedWork[]> {
    this.#draining = true;
    const quiet = this.#receiver.stop();
    this.#parts.pool.skipWaiting();
    await this.#within(QUIET_MS_MAX, quiet);
    await this.#within(this.#drainMs, this.#empty()); // U2
    return this.#finish();
  }

  async stop(): Promise<readonly AbandonedWork[]> {
    this.#draining = true;
    const quiet = this.#receiver.stop();
    this.#parts.pool.skipWaiting();
    this.#abortAll();
    await this.#within(QUIET_MS_MAX, quiet); // U3
    return this.#finish();
  }

  async idle(): Promise<void> {
    await this.#empty();
    await this.#settler.flush();
    await this.#parts.duplicates.flush();
  }

  snapshot(): ConsumerSnapshot {
    const { pool, breaker, stages } = this.#parts;
    return {
      ...stages.tally.counts,
      inFlight: pool.running,
      waiting: pool.waiting,
      breaker: breaker.kind(),
      paused: this.#pause.current(),
      watermark: stages.watermark.value(),
      oldestUnsettledAt: stages.tally.oldestUnsettledAt(),
    };
  }

  /** Returns the trace of the delivery, which `#run` has decoded by then. */
  #take(delivery: Delivery, leaseSince: EpochMs, receive: TraceContext | null) {
    const { clock, renewer } = this.#ports;
    const running = this.#running;
    const received = { delivery, leaseSince, receivedAt: clock.now(), receive, running };
    const inFlight = trackDelivery(renewer, received);
    const { stages } = this.#parts;
    this.#inFlight.add(inFlight);
    this.#receivedNothing = false;
    stages.tally.received(inFlight);
    const refuses = this.#draining || this.#pause.current() !== null; // U2, U5
    if (refuses) this.#settle(inFlight, { kind: "return", delayMs: durationMs(0) });
    else void this.#run(inFlight).then((settlement) => this.#settle(inFlight, settlement));
    return inFlight.trace.context;
  }

  /** A delivery that cannot be decoded is returned; the queue's redrive policy decides its end. */
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
    const { stages, breaker } = this.#parts;
    inFlight.drop();
    const heldMs = msBetween(inFlight.leaseSince, this.#ports.clock.now());
    const trace = inFlight.processed ?? inFlight.trace.context;
    this.#settler.settle(inFlight.delivery, withinGrant(settlement, heldMs), trace);
    stages.tally.settled(inFlight, settlement);
    this.#inFlight.delete(inFlight);
    breaker.onEnd(); // Any settlement ends a probe, so the next one may start.
    this.#settledCount += 1;
    if (this.#settledCount >= this.#messagesMax) this.#finished.resolve(); // U4
    this.#checkEmptied();
    this.#receiver.wake();
    if (this.#inFlight.size > 0) return;
    const listeners = this.#onEmpty;
    this.#onEmpty = [];
    for (const listener of listeners) listener();
  }

  #checkEmptied(): void {
    const receivesNothing = this.#receivedNothing || this.#pause.current() !== null;
    if (receivesNothing && this.#inFlight.size === 0) this.#emptied.resolve(); // U4
  }

  #pauseChanged(pause: Pause | null): void {
    if (pause === null) this.#receiver.wake();
    else this.#parts.pool.skipWaiting(); // U5
    this.#checkEmptied();
  }

  #empty(): Promise<void> {
    if (this.#inFlight.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  /** Resolves when `ended` does, or when the time is up. */
  async #within(spanMs: DurationMs, ended: Promise<void>): Promise<void> {
    const waited = new AbortController();
    const timer = this.#ports.clock.sleep(spanMs, waited.signal).catch(() => undefined);
    await Promise.race([ended, timer]);
    waited.abort();
  }

  #abortAll(): void {
    for (const inFlight of this.#inFlight) inFlight.abort(new Stopping("the consumer is stopping"));
  }

  async #finish(): Promise<readonly AbandonedWork[]> {
    const { duplicates, stages, deadlines } = this.#parts;
    this.#abortAll();
    const unwound = this.#within(UNWIND_MS, this.#running.empty());
    await this.#within(RETURN_MS, this.#empty());
    await this.#settler.flush();
    await duplicates.flush();
    await this.#sync();
    this.#closing.abort();
    deadlines.close();
    stages.times.close();
    await this.#ports.renewer.close();
    await unwound;
    return this.#running.list();
  }

  async #report(): Promise<void> {
    const { clock, queue, telemetry } = this.#ports;
    const { stages, pool } = this.#parts;
    const labels = { queue: queue.name };
    let depthAt = Number.NEGATIVE_INFINITY;
    let reportedDeadLetters = 0;
    while (!this.#closing.signal.aborted) {
      const oldest = stages.tally.oldestUnsettledAt();
      const age = oldest === null ? 0 : Math.max(0, clock.now() - oldest) / 1_000;
      telemetry.gauge(METRICS.oldestUnsettled.name, age, labels);
      telemetry.gauge(METRICS.inFlight.name, pool.running, labels);
      this.#flow.report(stages.tally.counts, this.#receivedNothing && this.#inFlight.size === 0);
      const { deadLettered } = stages.tally.counts;
      if (deadLettered !== reportedDeadLetters || clock.monotonic() - depthAt >= DEPTH_MS) {
        reportedDeadLetters = deadLettered;
        depthAt = clock.monotonic();
        await this.#reportQueue();
        await this.#reportDeadLetters();
        await this.#reportHalted();
      }
      await clock.sleep(REPORT_MS, this.#closing.signal).catch(() => undefined);
    }
  }

  async #syncWatermark(): Promise<void> {
    const { clock } = this.#ports;
    while (!this.#closing.signal.aborted) {
      await this.#sync();
      await clock.sleep(SYNC_MS, this.#closing.signal).catch(() => undefined);
    }
  }

  #sync(): Promise<void> {
    const { watermark } = this.#parts.stages;
    watermark.holds(this.#inFlight.size + this.#settler.pending);
    return watermark.sync();
  }

  async #reportHalted(): Promise<void> {
    const { ledger, queue, telemetry } = this.#ports;
    if (!queue.fifo) return;
    const halted = await countHalted(ledger, this.#parts.scope, queue.name).catch(() => undefined);
    if (halted === undefined) return;
    telemetry.gauge(METRICS.groupsHalted.name, halted, { queue: queue.name });
  }

  async #reportQueue(): Promise<void> {
    const { queue, telemetry } = this.#ports;
    telemetry.count(METRICS.sqsRequests.name, 1, { action: "GetQueueAttributes" });
    const facts = await queue.facts().catch(() => undefined);
    if (facts !== undefined) this.#flow.reportQueue(facts);
  }

  async #reportDeadLetters(): Promise<void> {
    const { deadLetters, telemetry } = this.#ports;
    if (deadLetters !== null)
      telemetry.count(METRICS.sqsRequests.name, 1, { action: "GetQueueAttributes" });
    const facts = await deadLetters?.facts().catch(() => undefined);
    if (deadLetters === null || facts === undefined) return;
    const depth = facts.visible + facts.hidden + facts.delayed;
    telemetry.gauge(METRICS.deadLetterDepth.name, depth, { queue: deadLetters.name });
  }
}

/** SQS hides a delivery for at most twelve hours from its receipt. */
function withinGrant(settlement: Settlement, heldMs: number): Settlement {
  if (settlement.kind !== "return") return settlement;
  return { kind: "return", delayMs: grantedDelayMs(settlement.delayMs, heldMs) };
}
