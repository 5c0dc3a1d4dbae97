// Batch runner: runs deliveries that a caller received and will settle, within a known time. It is
// the consumer for callers such as Lambda, which hand over a batch and wait for an answer.
//   N1. A delivery is done only after the outcomes of all its records are durable (P1 of
//       pipeline.ts). Every other delivery is returned: the caller must have it redelivered.
//   N2. After `workMs`, no record begins, and running attempts are aborted. After `totalMs`, `run`
//       resolves, whatever a handler does; a delivery without an outcome by then is returned.
//   N3. An attempt that N2 aborts counts as failed if it had half of `workMs`. A shorter one is
//       returned uncounted: the batch was too large, which is not the record's fault.
//   N4. Deliveries of a FIFO queue run in order. The first one that is not done ends the batch: it
//       and all that follow are returned, and those of its group with its delay.
//   N5. `run` never rejects: each delivery gets its own result.
//   N6. After `skipWaiting`, no record of the current batch begins. Those that have begun finish;
//       the others are returned uncounted. The next batch is not affected.

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, Queue } from "../../ports/queue-receiver.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { runDelivery } from "../pipeline.ts";
import { messageOf } from "../policy/error-text.ts";
import { DeadlinePassed } from "../stages/attempt.ts";
import type { Settlement } from "../stages/settle.ts";
import { guardTelemetry } from "../telemetry/guard-telemetry.ts";
import type { Counts } from "../telemetry/outcome-counts.ts";
import { type BatchLease, createBatchLease } from "./batch-lease.ts";
import type { StagePorts } from "./consumer-parts.ts";
import { type ConsumerParts, createParts, type PartsOptions } from "./consumer-parts.ts";
import { type InFlightDelivery, Stopping, trackDelivery } from "./in-flight-delivery.ts";

export interface BatchRunnerPorts extends Omit<StagePorts, "renewer"> {
  readonly queue: Pick<Queue, "name" | "fifo">;
}

/** The lease and the start of a handler are the runner's own. */
type BatchOptions = Omit<PartsOptions, "leaseMs" | "onHandle">;

export interface BatchTime {
  /** How long attempts may run (N2). */
  readonly workMs: DurationMs;
  /** When `run` resolves at the latest; longer than `workMs`, so that outcomes can be written. */
  readonly totalMs: DurationMs;
}

export interface BatchResult {
  readonly delivery: Delivery;
  readonly settlement: Settlement;
}

export interface BatchRunner {
  /** Reads the watermark; call it once, before the first batch. */
  start(): Promise<void>;
  /** Results come in the order of the deliveries. */
  run(deliveries: readonly Delivery[], time: BatchTime): Promise<readonly BatchResult[]>;
  /** Ends the current batch early (N6). */
  skipWaiting(): void;
  /** Counts since the runner was created. */
  counts(): Readonly<Counts>;
  close(): void;
}

/** The share of `workMs` from which an aborted attempt counts (N3). */
const COUNTED_SHARE = 1 / 2;
const NOT_DONE: Settlement = { kind: "leave" };
const RETURNED: Settlement = { kind: "return", delayMs: durationMs(0) };

export function createBatchRunner(ports: BatchRunnerPorts, options: BatchOptions): BatchRunner {
  return new TimedBatches(ports, options);
}

class TimedBatches implements BatchRunner {
  readonly #clock: Clock;
  readonly #fifo: boolean;
  readonly #telemetry: Telemetry;
  readonly #lease: BatchLease;
  readonly #parts: ConsumerParts;
  /** When the first handler of a delivery began, on the steady clock (N3). */
  readonly #begunAt = new WeakMap<InFlightDelivery, number>();
  /** Whether no record of the current batch may begin (N6). */
  #skipping = false;

  constructor(ports: BatchRunnerPorts, options: BatchOptions) {
    const { clock } = ports;
    const telemetry = guardTelemetry(ports.telemetry);
    this.#clock = clock;
    this.#fifo = ports.queue.fifo;
    this.#telemetry = telemetry;
    this.#lease = createBatchLease(clock);
    const { renewer } = this.#lease;
    const leaseMs = () => this.#lease.claimMs();
    const onHandle = (inFlight: InFlightDelivery) => {
      if (!this.#begunAt.has(inFlight)) this.#begunAt.set(inFlight, clock.monotonic());
    };
    const own = { ...options, leaseMs, onHandle };
    this.#parts = createParts({ ...ports, telemetry, renewer }, own, () => undefined);
  }

  start(): Promise<void> {
    return this.#parts.stages.watermark.restore();
  }

  counts(): Readonly<Counts> {
    return this.#parts.stages.tally.counts;
  }

  skipWaiting(): void {
    this.#skipping = true; // Deliveries of a FIFO queue are not in the pool yet.
    this.#parts.pool.skipWaiting();
  }

  close(): void {
    this.#parts.deadlines.close();
  }

  async run(deliveries: readonly Delivery[], time: BatchTime): Promise<readonly BatchResult[]> {
    const clock = this.#clock;
    this.#skipping = false;
    const batch = this.#lease.begin(time);
    batch.hold(deliveries.map(({ receipt }) => receipt));
    const all = deliveries.map((delivery) => this.#track(delivery));
    const settlements = all.map(() => NOT_DONE);
    const over = new AbortController();
    const sleep = (spanMs: DurationMs) => clock.sleep(spanMs, over.signal).catch(() => undefined);
    const limit = sleep(time.totalMs);
    const ended = this.#fifo
      ? this.#runInOrder(all, settlements, over.signal)
      : this.#runTogether(all, settlements);
    void sleep(time.workMs).then(() => this.#abort(all, time, over.signal));
    await Promise.race([ended, limit]); // N2
    const results = all.map(({ delivery }, at) => {
      return { delivery, settlement: settlements[at] ?? NOT_DONE };
    });
    for (const [at, inFlight] of all.entries()) this.#end(inFlight, results[at]?.settlement);
    await Promise.race([this.#save(), limit]);
    over.abort();
    batch.end();
    return results;
  }

  #track(delivery: Delivery): InFlightDelivery {
    const clock = this.#clock;
    const received = { delivery, leaseSince: clock.now(), receivedAt: clock.now() };
    const inFlight = trackDelivery(this.#lease.renewer, received);
    this.#parts.stages.tally.received(inFlight);
    return inFlight;
  }

  async #runTogether(all: readonly InFlightDelivery[], settlements: Settlement[]): Promise<void> {
    const run = async (inFlight: InFlightDelivery, at: number) => {
      settlements[at] = await this.#run(inFlight);
    };
    await Promise.all(all.map(run));
  }

  /** N4 */
  async #runInOrder(
    all: readonly InFlightDelivery[],
    settlements: Settlement[],
    over: AbortSignal,
  ): Promise<void> {
    for (const [at, inFlight] of all.entries()) {
      if (over.aborted) return;
      const settlement = inFlight.alive() ? await this.#run(inFlight) : RETURNED;
      settlements[at] = settlement;
      if (settlement.kind === "delete") continue;
      const { groupId } = inFlight.delivery;
      for (const [later, { delivery }] of all.entries()) {
        if (later <= at) continue;
        settlements[later] = delivery.groupId === groupId ? settlement : RETURNED;
      }
      return;
    }
  }

  async #run(inFlight: InFlightDelivery): Promise<Settlement> {
    if (this.#skipping) return RETURNED; // N6
    try {
      return await runDelivery(this.#parts.stages, this.#parts.pool, inFlight);
    } catch (error) {
      const fields = { message_id: inFlight.delivery.messageId, reason: messageOf(error) };
      this.#telemetry.log("error", "a delivery could not be processed", fields);
      return NOT_DONE; // N5
    }
  }

  #abort(all: readonly InFlightDelivery[], { workMs }: BatchTime, over: AbortSignal): void {
    if (over.aborted) return;
    const now = this.#clock.monotonic();
    this.#parts.pool.skipWaiting();
    for (const inFlight of all) {
      const begunAt = this.#begunAt.get(inFlight);
      const hadMs = begunAt === undefined ? 0 : now - begunAt;
      const reason =
        hadMs >= workMs * COUNTED_SHARE
          ? new DeadlinePassed(`the handler did not finish within ${Math.floor(hadMs)} ms`)
          : new Stopping("the time of the batch is over");
      inFlight.abort(reason); // N3
    }
  }

  /** A delivery without an outcome must not commit later (N2). */
  #end(inFlight: InFlightDelivery, settlement: Settlement = NOT_DONE): void {
    inFlight.abort(new Stopping("the batch is over"));
    inFlight.drop();
    this.#parts.stages.tally.settled(inFlight, settlement);
  }

  async #save(): Promise<void> {
    await this.#parts.duplicates.flush();
    await this.#parts.stages.watermark.sync();
  }
}
