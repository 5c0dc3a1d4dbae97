// Topic world: a broker with topics on virtual time, with an observable store, endpoints and
// signer.

import type { Broker } from "../../src/broker/engine/broker.ts";
import { createBroker } from "../../src/broker/engine/create-broker.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  ReceivedCopy,
} from "../../src/broker/model/operations.ts";
import { faultCode } from "../../src/broker/model/s3/s3-fault.ts";
import type {
  PublishEntry,
  PublishedMessage,
} from "../../src/broker/model/sns/topic-operations-contract.ts";
import { createVirtualClock, type VirtualClock } from "../../src/cloud/virtual-clock.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { epochMs } from "../../src/core/units.ts";
import { systemTurn } from "../../src/platform/system-turn.ts";
import type { Change } from "../../src/ports/broker/broker-change.ts";
import type { BrokerStore } from "../../src/ports/broker/broker-store.ts";
import type { HttpPost } from "../../src/ports/http/http-client.ts";
import type { Signer } from "../../src/ports/signer.ts";
import { createMemoryBrokerStore } from "../../src/stores/memory/broker-store.ts";

export const ORIGIN = "http://localhost:4566";
export const TOPIC_PREFIX = "arn:aws:sns:us-east-1:000000000000:";
export const QUEUE_PREFIX = "arn:aws:sqs:us-east-1:000000000000:";
const START = epochMs(1_800_000_000_000);

/** A signature that contains the signed text and the digest. */
export const readableSigner: Signer = {
  createIdentity: async () => ({ id: "c0ffee", certificatePem: "PEM", privateKeyPem: "KEY" }),
  sign: async (identity, digest, text) =>
    Buffer.from(`${identity.id} ${digest} ${text}`).toString("base64"),
};

export interface WorldOptions {
  readonly store?: BrokerStore;
  readonly clock?: VirtualClock;
  readonly enforcePolicies?: boolean;
  readonly signer?: Signer | null;
  /** The response of an endpoint: a status, or an error for no response. */
  readonly endpoint?: (post: HttpPost, signal: AbortSignal) => number | Error | Promise<number>;
}

export interface TopicWorld extends AsyncDisposable {
  readonly broker: Broker;
  readonly clock: VirtualClock;
  readonly posts: HttpPost[];
  /** The changes of each commit so far. */
  readonly commits: (readonly Change[])[];
  /** Makes the next commit fail, as a full disk would. */
  failNextCommit(): void;
  ask<K extends OperationName>(name: K, input: OperationInput<K>): Promise<OperationOutput<K>>;
  /** Returns the fault of an operation that must be refused. */
  refusal<K extends OperationName>(name: K, input: OperationInput<K>): Promise<string>;
  queue(name: string, attributes?: Record<string, string>): Promise<void>;
  topic(name: string, attributes?: Record<string, string>): Promise<void>;
  /** Returns the id of the new subscription. */
  subscribe(topic: string, queue: string, attributes?: Record<string, string>): Promise<string>;
  subscribeUrl(topic: string, url: string, attributes?: Record<string, string>): Promise<string>;
  publish(topic: string, entry: Partial<PublishEntry>): Promise<PublishedMessage>;
  /** Receives and deletes all visible messages. */
  drain(queue: string): Promise<ReceivedCopy[]>;
  /** Opens another broker on the same store, as after a restart. */
  reopen(options?: WorldOptions): Promise<TopicWorld>;
}

export async function createTopicWorld(options: WorldOptions = {}): Promise<TopicWorld> {
  const inner = options.store ?? createMemoryBrokerStore();
  const watched = watchStore(inner);
  let broker: Broker | null = null;
  const turn = () => new Promise<void>((resolve) => systemTurn.afterTurn(resolve));
  const idle = async () => {
    await turn();
    await broker?.idle();
    await turn();
  };
  const clock = createVirtualClock({ startAt: options.clock?.now() ?? START, idle });
  const posts: HttpPost[] = [];
  const { endpoint = () => 200, signer = readableSigner } = options;
  broker = await createBroker(
    {
      store: watched.store,
      clock,
      random: createSeededRandom(options.clock?.now() ?? 1),
      turn: systemTurn,
      ...(signer === null ? {} : { signer }),
      http: {
        async post(post, signal) {
          posts.push(post);
          const answer = await endpoint(post, signal);
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
    },
    {
      account: "000000000000",
      region: "us-east-1",
      enforcePolicies: options.enforcePolicies ?? false,
    },
  );
  return assemble(broker, clock, posts, watched, inner, options);
}

interface Watched {
  readonly store: BrokerStore;
  readonly commits: (readonly Change[])[];
  failNextCommit(): void;
}

function watchStore(inner: BrokerStore): Watched {
  const commits: (readonly Change[])[] = [];
  let failing = false;
  return {
    commits,
    failNextCommit: () => {
      failing = true;
    },
    store: {
      objects: inner.objects,
      load: () => inner.load(),
      read: (seq) => inner.read(seq),
      async commit(changes) {
        if (failing) {
          failing = false;
          throw new Error("no space left");
        }
        await inner.commit(changes);
        commits.push([...changes]);
      },
      close: async () => {}, // The next broker uses it.
    },
  };
}

function assemble(
  broker: Broker,
  clock: VirtualClock,
  posts: HttpPost[],
  watched: Watched,
  inner: BrokerStore,
  options: WorldOptions,
): TopicWorld {
  const ask: TopicWorld["ask"] = async (name, input) => {
    const outcome = await broker.submit(name, input);
    if (!outcome.ok) throw new Error(`${faultCode(outcome.fault)}: ${outcome.fault.message}`);
    return outcome.value;
  };
  const subscribe = async (input: OperationInput<"subscribe">) =>
    (await ask("subscribe", input)).arn.split(":").at(-1) as string;
  return {
    broker,
    clock,
    posts,
    commits: watched.commits,
    failNextCommit: watched.failNextCommit,
    ask,
    async refusal(name, input) {
      const outcome = await broker.submit(name, input);
      if (outcome.ok) throw new Error(`${name} was not refused`);
      return `${faultCode(outcome.fault)}: ${outcome.fault.message}`;
    },
    async queue(name, attributes = {}) {
      const fifo = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
      await ask("createQueue", { name, attributes: { ...fifo, ...attributes }, tags: {} });
    },
    async topic(name, attributes = {}) {
      const fifo = name.endsWith(".fifo") ? { FifoTopic: "true" } : {};
      await ask("createTopic", { name, attributes: { ...fifo, ...attributes }, tags: {} });
    },
    subscribe: (topic, queue, attributes = {}) => {
      const endpoint = QUEUE_PREFIX + queue;
      return subscribe({ topic, protocol: "sqs", endpoint, attributes, origin: ORIGIN });
    },
    subscribeUrl: (topic, endpoint, attributes = {}) => {
      const protocol = endpoint.split(":")[0] as string;
      return subscribe({ topic, protocol, endpoint, attributes, origin: ORIGIN });
    },
    async publish(topic, entry) {
      const complete = publishEntry(entry);
      const input = { topic, entries: [complete], batch: false, origin: ORIGIN, traceHeader: null };
      const { results } = await ask("publish", input);
      const only = results[0];
      if (only?.ok !== true) throw new Error("the message was refused");
      return only.value;
    },
    drain: (queue) => drain(ask, queue),
    async reopen(changed = {}) {
      await broker.close();
      return createTopicWorld({ ...options, ...changed, store: inner, clock });
    },
    [Symbol.asyncDispose]: () => broker.close(),
  };
}

export function publishEntry(entry: Partial<PublishEntry>): PublishEntry {
  const body = entry.body ?? "hello";
  return {
    body,
    bodies: null,
    subject: null,
    attributes: null,
    sizeBytes: Buffer.byteLength(body),
    groupId: null,
    dedupId: null,
    ...entry,
  };
}

async function drain(ask: TopicWorld["ask"], queue: string): Promise<ReceivedCopy[]> {
  const all: ReceivedCopy[] = [];
  for (;;) {
    const { deliveries } = await ask("receive", {
      queue,
      max: 10,
      waitMs: null,
      visibilityMs: null,
      attemptId: null,
    });
    if (deliveries.length === 0) return all;
    all.push(...deliveries);
    const handles = deliveries.map(({ receiptHandle }) => receiptHandle);
    await ask("delete", { queue, handles });
  }
}
