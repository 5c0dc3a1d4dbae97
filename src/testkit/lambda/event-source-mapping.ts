// Event source mapping: plays the part of Lambda that polls a queue and invokes a function.
//   E1. It receives batches with the visibility timeout of the queue. A batch is gathered for
//       `windowMs` at most; a FIFO queue has no window, and at most ten messages per batch.
//   E2. After an answer without failures it deletes the whole batch. With failures it deletes the
//       other messages only. After an error, a timeout or an answer that is not understood, it
//       deletes nothing. What is not deleted becomes visible by itself, and the queue's redrive
//       policy moves it in the end.
//   E3. Without ReportBatchItemFailures, the answer is not read: an invocation that does not fail
//       deletes the whole batch.
//   E4. An invocation that takes longer than `timeoutMs` has failed. Its code runs on, as no test
//       can end it: like a process that was frozen, it must not do harm.

import { type DurationMs, durationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import { sqsEvent } from "./sqs-event.ts";

/** The part of Lambda's context that functions use. */
export interface MappedContext {
  readonly awsRequestId: string;
  readonly functionName: string;
  getRemainingTimeInMillis(): number;
}

/** A function as Lambda calls it. */
export type MappedFunction = (event: unknown, context: MappedContext) => Promise<unknown>;

/** How a mapping polls and invokes, as in its configuration on AWS. */
export interface MappingOptions {
  /** Messages per batch at most. Default: 10. */
  readonly batchSize?: number;
  /** How long a batch is gathered. Default: 0. */
  readonly windowMs?: number;
  /** Invocations at the same time. Default: 2. */
  readonly concurrency?: number;
  /** Timeout of the function. Default: 30 seconds. */
  readonly timeoutMs?: number;
  /** Whether the answer's `batchItemFailures` are read (E3). Default: true. */
  readonly reportBatchItemFailures?: boolean;
}

/** One invocation, after its end. */
export interface FunctionInvocation {
  /** Ids of the messages of its batch, in order. */
  readonly messageIds: readonly string[];
  /** Ids of the messages that it left in the queue. */
  readonly failedIds: readonly string[];
  /** Why the invocation failed as a whole; null if it did not. */
  readonly error: unknown;
}

export interface MappingPorts {
  readonly clock: Clock;
  readonly queue: QueueReceiver;
  /** Measures invocations; differs from `clock` if the function runs in real time. */
  readonly invocationClock: Clock;
  /** Called with every invocation that begins. */
  readonly onInvoke?: (ended: Promise<void>) => void;
}

export interface Mapping {
  start(): Promise<void>;
  /** Messages received whose invocation has not ended. */
  readonly inFlight: number;
  /** The latest invocations, oldest first. */
  readonly invocations: readonly FunctionInvocation[];
  /** Polls no longer; resolves when running invocations have ended. */
  stop(): Promise<void>;
}

const RECEIVES_MAX = 10;
const FIFO_BATCH_MAX = 10;
const WAIT_MS_MAX: DurationMs = seconds(20);
const PAUSE_MS: DurationMs = seconds(1);
const DELETE_TRIES_MAX = 3;
/** Invocations that are remembered. */
const INVOCATIONS_MAX = 10_000;
const TIMED_OUT = Symbol("timed out");

export function createEventSourceMapping(
  ports: MappingPorts,
  invoked: { readonly handler: MappedFunction; readonly functionName: string },
  options: MappingOptions = {},
): Mapping {
  return new PollingMapping(ports, invoked, options);
}

class PollingMapping implements Mapping {
  readonly invocations: FunctionInvocation[] = [];
  readonly #ports: MappingPorts;
  readonly #invoked: { readonly handler: MappedFunction; readonly functionName: string };
  readonly #options: Required<MappingOptions>;
  readonly #stopping = new AbortController();
  #pollers: Promise<void>[] = [];
  #inFlight = 0;
  #requests = 0;

  constructor(
    ports: MappingPorts,
    invoked: { readonly handler: MappedFunction; readonly functionName: string },
    options: MappingOptions,
  ) {
    this.#ports = ports;
    this.#invoked = invoked;
    const { fifo } = ports.queue;
    const batchSize = options.batchSize ?? RECEIVES_MAX;
    this.#options = {
      batchSize: fifo ? Math.min(batchSize, FIFO_BATCH_MAX) : batchSize,
      windowMs: fifo ? 0 : (options.windowMs ?? 0),
      concurrency: options.concurrency ?? 2,
      timeoutMs: options.timeoutMs ?? 30_000,
      reportBatchItemFailures: options.reportBatchItemFailures ?? true,
    };
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async start(): Promise<void> {
    const { arn, visibilityMs } = await this.#ports.queue.facts();
    const poller = () => this.#poll(arn, visibilityMs);
    this.#pollers = Array.from({ length: this.#options.concurrency }, poller);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the mapping is stopping"));
    await Promise.all(this.#pollers);
  }

  async #poll(arn: string, visibilityMs: DurationMs): Promise<void> {
    const { clock } = this.#ports;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const batch = await this.#gather(visibilityMs);
        if (batch.length === 0) continue;
        await this.#invoke(batch, arn);
        this.#inFlight -= batch.length;
      } catch {
        await clock.sleep(PAUSE_MS, signal).catch(() => undefined); // The queue did not answer.
      }
    }
  }

  /** E1 */
  async #gather(visibilityMs: DurationMs): Promise<readonly Delivery[]> {
    const { clock, queue } = this.#ports;
    const { batchSize, windowMs } = this.#options;
    const { signal } = this.#stopping;
    const batch: Delivery[] = [];
    let endAt: number | null = null;
    for (;;) {
      const waitMs = endAt === null ? WAIT_MS_MAX : durationMs(endAt - clock.monotonic());
      const max = Math.min(RECEIVES_MAX, batchSize - batch.length);
      const request = { max, visibilityMs, waitMs: durationMs(Math.min(waitMs, WAIT_MS_MAX)) };
      const received = await queue.receive(request, signal);
      this.#inFlight += received.length;
      batch.push(...received);
      if (signal.aborted || batch.length === 0) return batch;
      endAt ??= clock.monotonic() + windowMs;
      if (batch.length >= batchSize || clock.monotonic() >= endAt) return batch;
    }
  }

  async #invoke(batch: readonly Delivery[], arn: string): Promise<void> {
    const messageIds = batch.map(({ messageId }) => messageId);
    const invocation = this.#call(batch, arn).then(
      (answer) => ({ messageIds, failedIds: this.#failedIn(answer, messageIds), error: null }),
      (error: unknown) => ({ messageIds, failedIds: messageIds, error }),
    );
    const settled = invocation.then((ended) => this.#settle(batch, ended));
    this.#ports.onInvoke?.(settled);
    await settled;
  }

  async #settle(batch: readonly Delivery[], ended: FunctionInvocation): Promise<void> {
    this.invocations.push(ended);
    if (this.invocations.length > INVOCATIONS_MAX) this.invocations.shift();
    const failed = new Set(ended.failedIds);
    const done = batch.filter(({ messageId }) => !failed.has(messageId));
    await this.#delete(done.map(({ receipt }) => receipt)); // E2
  }

  async #call(batch: readonly Delivery[], arn: string): Promise<unknown> {
    const { invocationClock: clock } = this.#ports;
    const { handler, functionName } = this.#invoked;
    const { timeoutMs } = this.#options;
    this.#requests += 1;
    const endAt = clock.monotonic() + timeoutMs;
    const context: MappedContext = {
      awsRequestId: `request-${this.#requests}`,
      functionName,
      getRemainingTimeInMillis: () => Math.max(0, endAt - clock.monotonic()),
    };
    const ended = new AbortController();
    const timeout = clock.sleep(durationMs(timeoutMs), ended.signal).then(
      () => TIMED_OUT,
      () => TIMED_OUT,
    );
    const answered = Promise.resolve().then(() => handler(sqsEvent(batch, arn), context));
    const answer = await Promise.race([answered, timeout]).finally(() => ended.abort());
    if (answer !== TIMED_OUT) return answer;
    answered.catch(() => undefined);
    throw new Error(`the function timed out after ${timeoutMs} ms`); // E4
  }

  /** The ids that an answer names; all of them if it is not understood (E2). */
  #failedIn(answer: unknown, messageIds: readonly string[]): readonly string[] {
    if (!this.#options.reportBatchItemFailures) return []; // E3
    const failures = (answer as { batchItemFailures?: unknown } | null | undefined)
      ?.batchItemFailures;
    if (failures === undefined || failures === null) return [];
    if (!Array.isArray(failures)) return messageIds;
    const ids = failures.map((each) => (each as { itemIdentifier?: unknown })?.itemIdentifier);
    const all = new Set<unknown>(messageIds);
    return ids.every((id) => all.has(id)) ? (ids as string[]) : messageIds;
  }

  async #delete(receipts: readonly string[]): Promise<void> {
    const { queue } = this.#ports;
    for (let from = 0; from < receipts.length; from += RECEIVES_MAX) {
      const some = receipts.slice(from, from + RECEIVES_MAX);
      for (let attempt = 1; attempt <= DELETE_TRIES_MAX; attempt += 1) {
        const deleted = await queue.deleteBatch(some).then(
          () => true,
          () => false,
        );
        if (deleted) break;
      }
    }
  }
}
