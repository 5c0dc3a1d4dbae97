// Receive: long-polls the queue for as many deliveries as the consumer has capacity for.
//   V1. A receive starts only if the consumer has capacity for a full batch. Deliveries in flight
//       and the batches of running receives never exceed the capacity together.
//   V2. Receives are long polls of ten, or of `batchMax`. While they return full batches, several
//       run at once; an idle queue gets one.
//   V3. After a failed receive the receiver backs off, longer each time and with jitter.
//   V4. After `stop`, no receive starts. Deliveries of a running receive are still passed on.
//   V5. A lease begins when the queue hides the message, at some time between request and response.
//       Most of a long poll is waiting, so at most a share of the lease is written off.
//   V6. Aborting a poll whose response is on its way leaves its messages hidden until their
//       visibility timeout. So `stop` gives responses a moment to arrive.
//   V7. With `messagesMax`, no receive asks for more than what remains of it, and none starts when
//       nothing remains.
//   V8. A receive is a span if it returned messages or failed. Empty polls are not: an idle queue
//       would otherwise fill a trace store.

import { reasonOf } from "../../core/errors.ts";
import type { TraceContext } from "../../core/events/trace-context.ts";
import { SQS_BATCH_ENTRIES_MAX, SQS_RECEIVE_WAIT_MS_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { pollBackoffMs } from "../policy/retry.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import { messagingAttributes, thrownType } from "../telemetry/record-spans.ts";

export interface Receiver {
  start(): void;
  /** Call it when capacity or the pause may have changed. */
  wake(): void;
  /** Resolves once no receive is running (V4). */
  stop(): Promise<void>;
}

export interface ReceiverOptions {
  readonly visibilityMs: DurationMs;
  readonly receivesMax: number;
  /** Deliveries per receive. Default: as many as SQS returns. */
  readonly batchMax?: number;
  /** Deliveries to receive in total (V7). Default: no limit. */
  readonly messagesMax?: number | undefined;
  /** How many more deliveries may be in flight. */
  readonly capacity: () => number;
  /** How long to pause; 0 for not at all, null until `wake` is called. */
  readonly pausedForMs: () => DurationMs | null;
  readonly onReceive: () => void;
  /** A receive returned no message, or failed. */
  readonly onEmpty: (failed: boolean) => void;
  /** A receive returned these deliveries, or none. */
  readonly onReceived?: (deliveries: readonly Delivery[]) => void;
  /**
   * A receive ended; "full" if it returned as many messages as it asked for, "empty" if it waited
   * to its end and returned none.
   */
  readonly onPolled: (how: "empty" | "drained" | "full" | "failed") => void;
  /** Takes a delivery; returns the trace that it belongs to, which the receive then links (V8). */
  readonly take: (delivery: Delivery, since: EpochMs, receive: Span) => TraceContext | null;
}

/** How long a running poll may still return messages after `stop`. */
const GRACE_MS: DurationMs = durationMs(250);
/** The share of a lease that a response may have taken to arrive. */
const ANSWER_SHARE = 1 / 6;

export interface ReceiverPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: QueueReceiver;
  readonly telemetry: Telemetry;
}

export function createReceiver(ports: ReceiverPorts, options: ReceiverOptions): Receiver {
  return new LongPolls(ports, options);
}

class LongPolls implements Receiver {
  readonly #ports: ReceiverPorts;
  readonly #options: ReceiverOptions;
  readonly #stopping = new AbortController();
  #polls = 0;
  #failures = 0;
  #pausing = false;
  /** Whether the last receive returned a full batch, so that more may wait (V2). */
  #plenty = false;
  #stopped = false;
  #onIdle: (() => void)[] = [];
  /** What running receives may still leave of `messagesMax` (V7). */
  #remaining: number;

  constructor(ports: ReceiverPorts, options: ReceiverOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#remaining = options.messagesMax ?? Number.POSITIVE_INFINITY;
  }

  start(): void {
    this.#pump();
  }

  wake(): void {
    this.#pump();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#polls > 0) {
      // A drain and a stop may wait at the same time.
      const idle = new Promise<void>((resolve) => void this.#onIdle.push(resolve));
      await Promise.race([idle, this.#ports.clock.sleep(GRACE_MS)]); // V6
      this.#stopping.abort(new Error("the consumer is stopping"));
      if (this.#polls > 0) await idle;
    }
    this.#stopping.abort(new Error("the consumer is stopping"));
  }

  #pump(): void {
    const { receivesMax, capacity, pausedForMs } = this.#options;
    const { batchMax = SQS_BATCH_ENTRIES_MAX } = this.#options;
    while (!this.#stopped && !this.#pausing) {
      if (this.#polls >= (this.#plenty ? receivesMax : 1)) return;
      const free = capacity() - this.#polls * batchMax;
      if (free < batchMax) return; // V1
      if (this.#remaining <= 0) return; // V7
      const pauseMs = pausedForMs();
      if (pauseMs === null) return;
      if (pauseMs > 0) {
        void this.#pause(pauseMs);
        return;
      }
      this.#polls += 1;
      const max = Math.min(batchMax, this.#remaining);
      this.#remaining -= max;
      void this.#receive(max);
    }
  }

  async #receive(max: number): Promise<void> {
    const { clock, queue, telemetry } = this.#ports;
    const { visibilityMs, onReceive, onEmpty, onPolled } = this.#options;
    const requestedAt = clock.now();
    let received = 0;
    const waitMs = SQS_RECEIVE_WAIT_MS_MAX;
    onReceive();
    telemetry.count(METRICS.sqsRequests.name, 1, { action: "ReceiveMessage" });
    try {
      const request = { max, waitMs, visibilityMs };
      const deliveries = await queue.receive(request, this.#stopping.signal);
      received = deliveries.length;
      this.#options.onReceived?.(deliveries);
      this.#failures = 0;
      this.#plenty = received === max;
      const isEmpty = received === 0 && !this.#stopped;
      onPolled(isEmpty ? "empty" : this.#plenty ? "full" : "drained");
      const shareMs = Math.floor(visibilityMs * ANSWER_SHARE); // Instants are whole numbers (U1).
      const since = epochMs(Math.max(requestedAt, clock.now() - shareMs)); // V5
      if (received > 0) this.#takeAll(deliveries, requestedAt, since);
      if (deliveries.length === 0) onEmpty(false);
    } catch (error) {
      onEmpty(true);
      onPolled("failed");
      if (!this.#stopped) this.#failed(error, requestedAt);
    }
    this.#polls -= 1;
    this.#remaining += max - received; // V7
    if (this.#polls === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    this.#pump();
  }

  /** V8 */
  #takeAll(deliveries: readonly Delivery[], startedAt: EpochMs, since: EpochMs): void {
    const span = this.#span(startedAt, deliveries.length);
    for (const delivery of deliveries) {
      const context = this.#options.take(delivery, since, span);
      const isOther = context !== null && context !== span.context;
      if (isOther) span.link(context, { "messaging.message.id": delivery.messageId });
    }
    span.end();
  }

  #span(startedAt: EpochMs, count: number): Span {
    const { queue, telemetry } = this.#ports;
    return telemetry.span(`receive ${queue.name}`, {
      kind: "client",
      startedAt,
      attributes: {
        ...messagingAttributes(queue.name, "receive", "receive"),
        "messaging.batch.message_count": count,
      },
    });
  }

  #failed(error: unknown, startedAt: EpochMs): void {
    const { queue, random, telemetry } = this.#ports;
    this.#span(startedAt, 0).end({ errorType: thrownType(error) }); // V8
    this.#plenty = false;
    this.#failures += 1;
    const delayMs = pollBackoffMs(this.#failures, random.fraction());
    const reason = reasonOf(error);
    const fields = { queue: queue.name, failures: this.#failures, delay_ms: delayMs, reason };
    telemetry.log("warn", "receive failed, backing off", fields);
    void this.#pause(delayMs); // V3
  }

  async #pause(delayMs: DurationMs): Promise<void> {
    if (this.#pausing) return;
    this.#pausing = true;
    await this.#ports.clock.sleep(delayMs, this.#stopping.signal).catch(() => undefined);
    this.#pausing = false;
    this.#pump();
  }
}
