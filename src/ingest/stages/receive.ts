// Receive: asks the queue for as much as there is room for, and no more.
//   V1. A receive is asked for only when all that it may bring has a place: what is in hand, and
//       what receives under way may bring, never exceeds the room.
//   V2. Receives are long polls of ten. While they come back full, several run at once; an idle
//       queue is asked by one.
//   V3. A queue that fails is asked again after a growing, jittered pause, never in a hot loop.
//   V4. After `stop`, no receive begins, and what one under way still brings is handed on.
//   V5. A lease begins when the queue hands over, which is somewhere between question and answer.
//       Of a long poll most of that time was waiting, so no more than a share of the lease is given
//       up.
//   V6. A poll that is aborted while its answer is on the way leaves what it took hidden until its
//       visibility ends; so answers on the way get a moment to arrive.

import { reasonOf } from "../../core/errors.ts";
import { SQS_BATCH_ENTRIES_MAX, SQS_RECEIVE_WAIT_MS_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { pollBackoffMs } from "../policy/retry.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";

export interface Receiver {
  start(): void;
  /** There may be room again, or leave to go on. */
  wake(): void;
  /** Resolves once no receive is under way (V4). */
  stop(): Promise<void>;
}

export interface ReceiverOptions {
  readonly visibilityMs: DurationMs;
  readonly receivesMax: number;
  /** Deliveries that may be taken in hand now. */
  readonly room: () => number;
  /** When receiving may go on: 0 for now, null for whenever `wake` is called. */
  readonly pausedForMs: () => DurationMs | null;
  readonly onAsked: () => void;
  /** A receive brought nothing. */
  readonly onNothing: () => void;
  readonly take: (delivery: Delivery, since: EpochMs) => void;
}

/** How long a poll under way may still bring something after `stop`. */
const GRACE_MS: DurationMs = durationMs(250);
/** How much of a lease an answer may have been under way for. */
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
  #underWay = 0;
  #failures = 0;
  #pausing = false;
  /** Whether the last receive was full, so that more may be waiting (V2). */
  #plenty = false;
  #stopped = false;
  #onQuiet: (() => void)[] = [];

  constructor(ports: ReceiverPorts, options: ReceiverOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  start(): void {
    this.#pump();
  }

  wake(): void {
    this.#pump();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#underWay > 0) {
      // Whoever drains and whoever stops meanwhile are both told.
      const quiet = new Promise<void>((resolve) => void this.#onQuiet.push(resolve));
      await Promise.race([quiet, this.#ports.clock.sleep(GRACE_MS)]); // V6
      this.#stopping.abort(new Error("the consumer stops"));
      if (this.#underWay > 0) await quiet;
    }
    this.#stopping.abort(new Error("the consumer stops"));
  }

  #pump(): void {
    const { receivesMax, room, pausedForMs } = this.#options;
    while (!this.#stopped && !this.#pausing) {
      if (this.#underWay >= (this.#plenty ? receivesMax : 1)) return;
      const free = room() - this.#underWay * SQS_BATCH_ENTRIES_MAX;
      if (free < SQS_BATCH_ENTRIES_MAX) return; // V1
      const pauseMs = pausedForMs();
      if (pauseMs === null) return;
      if (pauseMs > 0) {
        void this.#pause(pauseMs);
        return;
      }
      this.#underWay += 1;
      void this.#receive();
    }
  }

  async #receive(): Promise<void> {
    const { clock, queue, telemetry } = this.#ports;
    const { visibilityMs, onAsked, onNothing, take } = this.#options;
    const askedAt = clock.now();
    const max = SQS_BATCH_ENTRIES_MAX;
    const waitMs = SQS_RECEIVE_WAIT_MS_MAX;
    onAsked();
    telemetry.count(METRICS.sqsRequests.name, 1, { action: "ReceiveMessage" });
    try {
      const request = { max, waitMs, visibilityMs };
      const deliveries = await queue.receive(request, this.#stopping.signal);
      this.#failures = 0;
      this.#plenty = deliveries.length === max;
      const shareMs = Math.floor(visibilityMs * ANSWER_SHARE); // Instants are whole (U1).
      const since = epochMs(Math.max(askedAt, clock.now() - shareMs)); // V5
      for (const delivery of deliveries) take(delivery, since);
      if (deliveries.length === 0) onNothing();
    } catch (error) {
      onNothing();
      if (!this.#stopped) this.#failed(error);
    }
    this.#underWay -= 1;
    if (this.#underWay === 0) for (const tell of this.#onQuiet.splice(0)) tell();
    this.#pump();
  }

  #failed(error: unknown): void {
    const { queue, random, telemetry } = this.#ports;
    this.#plenty = false;
    this.#failures += 1;
    const delayMs = pollBackoffMs(this.#failures, random.fraction());
    const reason = reasonOf(error);
    const fields = { queue: queue.name, failures: this.#failures, delay_ms: delayMs, reason };
    telemetry.log("warn", "the queue could not be asked", fields);
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
