// A broker on a bench: manual clock, seeded random, and a store whose commits a test can hold back,
// let through or break by hand.

import type { Broker } from "../../../src/broker/engine/broker.ts";
import { createBroker } from "../../../src/broker/engine/create-broker.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  ReceivedCopy,
  ReceiveInput,
  SendEntry,
} from "../../../src/broker/model/operations.ts";
import { faultCode } from "../../../src/broker/model/s3/s3-fault.ts";
import { assert, present } from "../../../src/core/assert.ts";
import { createSeededRandom } from "../../../src/core/seeded-random.ts";
import { durationMs } from "../../../src/core/units.ts";
import type { Change, MessageContent } from "../../../src/ports/broker/broker-change.ts";
import type { BrokerStore } from "../../../src/ports/broker/broker-store.ts";
import type { ReplySpace } from "../../../src/ports/http/reply-space.ts";
import type { Turn } from "../../../src/ports/turn.ts";
import { createMemoryBrokerStore } from "../../../src/stores/memory/broker-store.ts";
import { ManualClock } from "../manual-clock.ts";
import { receiveInput } from "./model-bench.ts";

/** Lets everything run that can run without time passing. */
export async function engineTurns(count = 5): Promise<void> {
  for (let remaining = count; remaining > 0; remaining -= 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

export interface HeldCommit {
  readonly changes: readonly Change[];
  /** Applies the changes and resolves the commit. */
  pass(): Promise<void>;
  /** Rejects the commit; nothing is applied. */
  break(): void;
}

export class HandStore implements BrokerStore {
  readonly commits: (readonly Change[])[] = [];
  readonly held: HeldCommit[] = [];
  readonly #inner: BrokerStore;
  /** The changes of commits that have not ended. */
  readonly #notEnded = new Set<readonly Change[]>();
  holding = false;
  loads = 0;
  closed = false;

  constructor(inner: BrokerStore = createMemoryBrokerStore()) {
    this.#inner = inner;
  }

  get objects() {
    return this.#inner.objects;
  }

  get space() {
    return this.#inner.space;
  }

  load() {
    assert(this.#notEnded.size === 0, "nothing is reloaded while a commit is in flight");
    this.loads += 1;
    return this.#inner.load();
  }

  /** Sees what is held back, too, as far as it was put and not moved. */
  read(seq: number): MessageContent | undefined {
    for (const change of [...this.#notEnded].flat()) {
      if (change.kind === "put-message" && change.head.seq === seq) return change.content;
    }
    return this.#inner.read(seq);
  }

  commit(changes: readonly Change[]): Promise<void> {
    const batch = [...changes];
    const apply = async () => {
      await this.#inner.commit(batch);
      this.commits.push(batch);
    };
    if (!this.holding && this.#notEnded.size === 0) return apply();
    this.#notEnded.add(batch);
    return new Promise((resolve, reject) => {
      this.held.push({
        changes: batch,
        pass: async () => {
          this.holding = false;
          await apply();
          this.#notEnded.delete(batch);
          resolve();
          await engineTurns();
        },
        break: () => {
          this.#notEnded.delete(batch);
          reject(new Error("the disk is gone"));
        },
      });
    });
  }

  /** The commit that the test holds back. */
  async heldCommit(): Promise<HeldCommit> {
    await engineTurns();
    return present(this.held.shift(), "a commit in flight");
  }

  /** The inner store stays open, so that another broker can read what is there. */
  async close(): Promise<void> {
    this.closed = true;
  }
}

const turn: Turn = {
  afterTurn: (work) => {
    setImmediate(work);
  },
};

export class EngineBench {
  readonly clock: ManualClock;
  readonly store: HandStore;
  readonly broker: Broker;

  private constructor(clock: ManualClock, store: HandStore, broker: Broker) {
    this.clock = clock;
    this.store = store;
    this.broker = broker;
  }

  static async open(
    options: {
      store?: BrokerStore;
      clock?: ManualClock;
      cacheBytes?: number;
      seed?: number;
      onError?: (error: unknown) => void;
      acceptClock?: boolean;
      replySpace?: ReplySpace;
    } = {},
  ): Promise<EngineBench> {
    const clock = options.clock ?? new ManualClock();
    const store = new HandStore(options.store);
    const random = createSeededRandom(options.seed ?? 1);
    const { cacheBytes, acceptClock = false } = options;
    const broker = await createBroker(
      { store, clock, random, turn, onError: options.onError, replySpace: options.replySpace },
      {
        account: "000000000000",
        region: "eu-north-1",
        acceptClock,
        ...(cacheBytes === undefined ? {} : { contentCacheBytesMax: cacheBytes }),
      },
    );
    await broker.idle();
    return new EngineBench(clock, store, broker);
  }

  async ok<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
    signal?: AbortSignal,
  ): Promise<OperationOutput<K>> {
    const outcome = await this.broker.submit(name, input, signal);
    if (!outcome.ok) throw new Error(`${faultCode(outcome.fault)}: ${outcome.fault.message}`);
    return outcome.value;
  }

  async create(name: string, attributes: Record<string, string> = {}): Promise<void> {
    const fifo = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
    await this.ok("createQueue", { name, attributes: { ...fifo, ...attributes }, tags: {} });
  }

  send(queue: string, ...entries: SendEntry[]) {
    return this.ok("send", { queue, entries, batch: true });
  }

  async receive(queue: string, more: Partial<ReceiveInput> = {}): Promise<ReceivedCopy[]> {
    return (await this.ok("receive", receiveInput(queue, more))).deliveries;
  }

  /** A long poll; the bodies it is answered with. */
  async poll(queue: string, waitMs: number, signal?: AbortSignal): Promise<string[]> {
    const input = receiveInput(queue, { waitMs: durationMs(waitMs) });
    const { deliveries } = await this.ok("receive", input, signal);
    return deliveries.map(({ body }) => body);
  }

  /** Lets time pass and everything happen that it brings. */
  async pass(spanMs: number): Promise<void> {
    this.clock.advance(spanMs);
    await engineTurns();
    await this.broker.idle();
  }
}

/** Whether a promise has been answered by now, and how. */
export function watch(promise: Promise<unknown>): { state: "pending" | "resolved" | "rejected" } {
  const watched: { state: "pending" | "resolved" | "rejected" } = { state: "pending" };
  promise.then(
    () => {
      watched.state = "resolved";
    },
    () => {
      watched.state = "rejected";
    },
  );
  return watched;
}
