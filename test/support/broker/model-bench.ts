// The broker's models on a bench: no engine, no store, time moves when a test says so. Every change
// a step emits is recorded, and the content it brings can be read back.

import { STEPS } from "../../../src/broker/engine/steps.ts";
import { BrokerState } from "../../../src/broker/model/broker-state.ts";
import type { Fault } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  ReceivedCopy,
  ReceiveInput,
  SendEntry,
  SentMessage,
} from "../../../src/broker/model/operations.ts";
import { answerLongPolls } from "../../../src/broker/model/sqs/answer-long-polls.ts";
import type { QueueState } from "../../../src/broker/model/sqs/queue.ts";
import type { MustWait } from "../../../src/broker/model/sqs/receive.ts";
import type { ModelStep } from "../../../src/broker/model/step.ts";
import { present } from "../../../src/core/assert.ts";
import type { Result } from "../../../src/core/result.ts";
import { createSeededRandom } from "../../../src/core/seeded-random.ts";
import { type DurationMs, durationMs, epochMs } from "../../../src/core/units.ts";
import type { Change, MessageContent } from "../../../src/ports/broker/broker-change.ts";
import type { ObjectChange } from "../../../src/ports/broker/object-change.ts";
import { MemoryObjects } from "../../../src/stores/memory/object-table.ts";

export const ACCOUNT = "000000000000";
export const REGION = "eu-north-1";

export function arn(name: string): string {
  return `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`;
}

export function entry(body: string, more: Partial<SendEntry> = {}): SendEntry {
  return {
    body,
    sizeBytes: Buffer.byteLength(body),
    attributes: null,
    traceHeader: null,
    groupId: null,
    dedupId: null,
    delayMs: null,
    ...more,
  };
}

/** An entry for a FIFO queue whose deduplication id is its body. */
export function inGroup(groupId: string, body: string, more: Partial<SendEntry> = {}): SendEntry {
  return entry(body, { groupId, dedupId: body, ...more });
}

export function receiveInput(queue: string, more: Partial<ReceiveInput> = {}): ReceiveInput {
  return { queue, max: 10, waitMs: durationMs(0), visibilityMs: null, attemptId: null, ...more };
}

type AnyStep = (
  state: BrokerState,
  step: ModelStep,
  input: unknown,
) => Result<unknown, Fault> | MustWait;
type Settled = Map<number, Result<{ deliveries: ReceivedCopy[] }, Fault>>;

export class ModelBench {
  readonly state = new BrokerState({ account: ACCOUNT, region: REGION, secret: [17, 23] });
  readonly changes: Change[] = [];
  readonly contents = new Map<number, MessageContent>();
  readonly #random = createSeededRandom(1);
  readonly #objects = new MemoryObjects();
  #now = 1_700_000_000_000;

  get now(): number {
    return this.#now;
  }

  pass(spanMs: number): void {
    this.#now += spanMs;
  }

  get step(): ModelStep {
    return {
      now: epochMs(this.#now),
      emit: (change) => this.#emit(change),
      newId: () => this.#random.uuid(),
      read: (seq) => present(this.contents.get(seq), `content of ${seq}`),
      isFull: false,
      mayDeliver: true,
      objects: this.#objects,
    };
  }

  #emit(change: Change): void {
    this.changes.push(change);
    if (/-(object|blob|upload|part)$/.test(change.kind))
      this.#objects.apply(change as ObjectChange);
    if (change.kind === "put-message") this.contents.set(change.head.seq, change.content);
    if (change.kind === "delete-message") this.contents.delete(change.seq);
    if (change.kind !== "move-message") return;
    const { id, body, detail } = present(this.contents.get(change.from), "moved content");
    this.contents.delete(change.from);
    this.contents.set(change.head.seq, {
      id: change.id ?? id,
      body,
      detail: change.detail === undefined ? detail : change.detail,
    });
  }

  /** Runs one operation; a receive that would wait is not an answer. */
  run<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
  ): Result<OperationOutput<K>, Fault> {
    const outcome = (STEPS[name] as AnyStep)(this.state, this.step, input);
    if ("waiting" in outcome) throw new Error("the receive waits");
    return outcome as Result<OperationOutput<K>, Fault>;
  }

  ok<K extends OperationName>(name: K, input: OperationInput<K>): OperationOutput<K> {
    const outcome = this.run(name, input);
    if (!outcome.ok) throw new Error(`${outcome.fault.name}: ${outcome.fault.message}`);
    return outcome.value;
  }

  fault<K extends OperationName>(name: K, input: OperationInput<K>): Fault {
    const outcome = this.run(name, input);
    if (outcome.ok) throw new Error(`${name} was not refused`);
    return outcome.fault;
  }

  create(name: string, attributes: Record<string, string> = {}): QueueState {
    const fifo = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
    this.ok("createQueue", { name, attributes: { ...fifo, ...attributes }, tags: {} });
    return this.queue(name);
  }

  queue(name: string): QueueState {
    return present(this.state.queues.get(name), name);
  }

  set(queue: string, attributes: Record<string, string>): void {
    this.ok("setQueueAttributes", { queue, attributes });
  }

  attributes(queue: string): Record<string, string> {
    return this.ok("getQueueAttributes", { queue, names: ["All"] }).attributes;
  }

  send(queue: string, ...entries: SendEntry[]): SentMessage[] {
    const { results } = this.ok("send", { queue, entries, batch: true });
    return results.map((result) => {
      if (!result.ok) throw new Error(result.fault.message);
      return result.value;
    });
  }

  receive(queue: string, more: Partial<ReceiveInput> = {}): ReceivedCopy[] {
    return this.ok("receive", receiveInput(queue, more)).deliveries;
  }

  bodies(queue: string, more: Partial<ReceiveInput> = {}): string[] {
    return this.receive(queue, more).map(({ body }) => body);
  }

  delete(queue: string, ...deliveries: ReceivedCopy[]): (Fault | null)[] {
    const handles = deliveries.map(({ receiptHandle }) => receiptHandle);
    return this.ok("delete", { queue, handles }).faults;
  }

  change(queue: string, delivery: ReceivedCopy, visibilityMs: number): Fault | null {
    const entries = [{ handle: delivery.receiptHandle, visibilityMs: durationMs(visibilityMs) }];
    return this.ok("changeVisibility", { queue, entries }).faults[0] ?? null;
  }

  counts(queue: string): [visible: number, inFlight: number, delayed: number] {
    const match = this.ok("countQueues", { prefix: queue }).queues.find((q) => q.name === queue);
    const { visible, inFlight, delayed } = present(match, queue);
    return [visible, inFlight, delayed];
  }

  /** A receive that has to wait; gives its number. */
  poll(queue: string, waitMs: number, more: Partial<ReceiveInput> = {}): number {
    const input = receiveInput(queue, { ...more, waitMs: waitMs as DurationMs });
    const outcome = (STEPS.receive as AnyStep)(this.state, this.step, input);
    if (!("waiting" in outcome)) throw new Error("the receive does not wait");
    return outcome.waiting;
  }

  /** The long polls that this step answers. */
  answerLongPolls(): Settled {
    const settled: Settled = new Map();
    answerLongPolls(this.state, this.step, (id, outcome) => settled.set(id, outcome));
    return settled;
  }
}

/** The bodies a long poll was answered with, or null if it was not answered with any. */
export function bodiesOf(
  outcome: Result<{ deliveries: ReceivedCopy[] }, Fault> | undefined,
): string[] | null {
  return outcome?.ok ? outcome.value.deliveries.map(({ body }) => body) : null;
}
