// Plain consumer: the loop that programs without a ledger have: receive, handle, delete. The doctor
// shows with it what a mistake in that loop leads to.
//   A1. It sends no heartbeats and remembers nothing. Only `deletes` differs between programs.

import { type DurationMs, seconds } from "../../core/units.ts";
import type {
  Consumer,
  ConsumerOptions,
  ConsumerPorts,
  ConsumerSnapshot,
} from "../../ingest/running/consumer.ts";
import type { HandlerEvent } from "../../ingest/spec/define-pipeline.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Effect } from "../../ports/sink.ts";

/** When the program deletes a message. */
export type PlainDeletes =
  | "after-success"
  | "before-handling"
  | "whatever-happens"
  /** After success, and without handling them all messages after the first. */
  | "first-only"
  /** All messages of a receive, if all of them succeeded. */
  | "whole-batch";

const WAIT_MS: DurationMs = seconds(20);
/** Pause after a receive that failed. */
const PAUSE_MS: DurationMs = seconds(1);
const MESSAGES_MAX = 10;

export function createPlainConsumer(deletes: PlainDeletes) {
  return (ports: ConsumerPorts, options: ConsumerOptions): Consumer =>
    new PlainConsumer(deletes, ports, options);
}

class PlainConsumer implements Consumer {
  readonly finished = new Promise<void>(() => {});
  readonly emptied = new Promise<void>(() => {});
  readonly #deletes: PlainDeletes;
  readonly #ports: ConsumerPorts;
  readonly #pipeline: ConsumerOptions["pipeline"];
  readonly #stopping = new AbortController();
  #hasHandled = false;

  constructor(deletes: PlainDeletes, ports: ConsumerPorts, { pipeline }: ConsumerOptions) {
    this.#deletes = deletes;
    this.#ports = ports;
    this.#pipeline = pipeline;
  }

  async start(): Promise<void> {
    void this.#loop();
  }

  async drain(): Promise<never[]> {
    this.#stopping.abort();
    return [];
  }

  async stop(): Promise<never[]> {
    this.#stopping.abort();
    return [];
  }

  async idle(): Promise<void> {}

  snapshot(): ConsumerSnapshot {
    throw new Error("a plain consumer has no snapshot");
  }

  async #loop(): Promise<void> {
    const { queue, clock } = this.#ports;
    const { signal } = this.#stopping;
    const { visibilityMs } = this.#pipeline;
    while (!signal.aborted) {
      const request = { max: MESSAGES_MAX, waitMs: WAIT_MS, visibilityMs };
      const received = await queue.receive(request, signal).catch(() => null);
      if (received === null) await clock.sleep(PAUSE_MS);
      const deliveries = received ?? [];
      const results = await Promise.all(deliveries.map((each) => this.#run(each)));
      const whole = this.#deletes === "whole-batch" && !results.includes(false);
      if (whole && deliveries.length > 0) await this.#remove(deliveries);
    }
  }

  async #run(delivery: Delivery): Promise<boolean> {
    if (this.#deletes === "before-handling") await this.#remove([delivery]);
    if (this.#deletes === "first-only" && this.#hasHandled) {
      await this.#remove([delivery]);
      return true;
    }
    this.#hasHandled = true;
    const done = await this.#handle(delivery).then(
      () => true,
      () => false,
    );
    const waits = this.#deletes === "after-success" || this.#deletes === "first-only";
    const removes = waits && done;
    if (removes || this.#deletes === "whatever-happens") await this.#remove([delivery]);
    return done;
  }

  async #remove(deliveries: readonly Delivery[]): Promise<void> {
    const receipts = deliveries.map(({ receipt }) => receipt);
    await this.#ports.queue.deleteBatch(receipts).catch(() => []);
  }

  /** Runs the handler and writes its effect; throws if either fails. */
  async #handle(delivery: Delivery): Promise<void> {
    const { sink, clock } = this.#ports;
    const { signal } = this.#stopping;
    const name = String(JSON.parse(delivery.body).dedupe_key);
    const effects: Effect[] = [];
    const context = {
      attempt: delivery.receiveCount,
      fence: null,
      signal,
      emit: (value: unknown) => void effects.push({ kind: "custom", value }),
    };
    const event = { envelope: { dedupe_key: name }, payload: {} };
    await this.#pipeline.handler(
      event as unknown as HandlerEvent,
      context as unknown as HandlerContext,
    );
    if (sink?.mode !== "idempotent") throw new Error("a plain consumer needs a table");
    const fence = fenceOf(clock.now());
    const origin = { key: asRecordKey(name), fence, object: null, eventTime: delivery.sentAt };
    await sink.apply(effects, origin, signal);
  }
}
