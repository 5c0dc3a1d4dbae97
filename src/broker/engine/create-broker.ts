// The broker: the engine as the wire and embedders see it, with the services beside it: the signer
// of notifications, and the delivery to HTTP endpoints.

import { TidegateError } from "../../core/errors.ts";
import { succeed } from "../../core/result.ts";
import type { HttpClient } from "../../ports/http/http-client.ts";
import type { Signer } from "../../ports/signer.ts";
import type { BrokerState } from "../model/broker-state.ts";
import { refuse } from "../model/fault.ts";
import { FaultPlan } from "../model/fault-plan.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  OperationResult,
} from "../model/operations.ts";
import type { Broker, ResourceKind } from "./broker.ts";
import { Engine } from "./engine.ts";
import type { EnginePorts } from "./engine-ports.ts";
import { HttpDelivery } from "./http-delivery.ts";
import { NotificationSigner } from "./notification-signer.ts";
import type { AnyResult, PendingOperation } from "./pending-operation.ts";

/** Message bodies cached in memory; the rest is read from disk. */
const CONTENT_CACHE_BYTES_MAX = 262_144;

export interface BrokerPorts extends EnginePorts {
  /** Without it, notifications are not signed. */
  readonly signer?: Signer;
  /** Without it, HTTP endpoints cannot be subscribed. */
  readonly http?: HttpClient;
}

export interface BrokerOptions {
  readonly account: string;
  readonly region: string;
  readonly contentCacheBytesMax?: number;
  /** Believes the system clock, however far it is ahead of the store. Default: false. */
  readonly acceptClock?: boolean;
  /** Whether queue policies decide which topics may deliver to queues. Default: false. */
  readonly enforcePolicies?: boolean;
}

/** Opens the store and continues from its state. Rejects if the store cannot be read. */
export async function createBroker(ports: BrokerPorts, options: BrokerOptions): Promise<Broker> {
  const { account, region, enforcePolicies = false } = options;
  const handleRandom = ports.random.fork("receipt-handles");
  const secret = [handleRandom.below(2 ** 32), handleRandom.below(2 ** 32)] as const;
  const cacheBytesMax = options.contentCacheBytesMax ?? CONTENT_CACHE_BYTES_MAX;
  const faults = new FaultPlan();
  const identity = { account, region, secret, enforcePolicies, faults };
  const { acceptClock: acceptLeaps } = options;
  const engine = new Engine(ports, identity, { cacheBytesMax, acceptLeaps });
  const run: Broker["submit"] = (name, input, signal) =>
    new Promise((resolve, reject) => {
      // The engine answers every operation with a result of its own type.
      const answer = resolve as (result: AnyResult) => void;
      engine.submit({ name, input, signal, resolve: answer, reject } satisfies PendingOperation);
    });
  const signer = ports.signer === undefined ? null : new NotificationSigner(ports.signer, run);
  const httpDelivery = createHttpDelivery(ports, signer, run);
  if (httpDelivery !== null) {
    engine.onOutgoing = (dueAt, now) => httpDelivery.expect(dueAt, now);
  }
  await engine.open();
  return {
    account,
    region,
    faults,
    get health() {
      return engine.health;
    },
    get outage() {
      return engine.storeRetry.outage;
    },
    get clockLeap() {
      return engine.clockLeap;
    },
    submit: (name, input, signal) => {
      // Everything but these two goes straight to the engine: this is the hot path.
      if (name === "createTopic" || name === "subscribe") {
        return runPrepared(name, input, { signer, httpDelivery, run });
      }
      const result = run(name, input, signal);
      const readable = name === "receive" || name === "peek";
      return signer !== null && readable ? signResult(name, result, signer) : result;
    },
    resourcePolicy: (kind, name) => policyOf(loaded(engine.state), kind, name),
    topicOfSubscription: (id) =>
      loaded(engine.state).topics.subscriptions.get(id)?.topic.record.name,
    async idle() {
      do {
        await engine.idle();
        await httpDelivery?.idle();
      } while (httpDelivery?.busy);
      await engine.idle();
    },
    async close() {
      await httpDelivery?.close();
      await engine.close();
    },
  };
}

function loaded(state: BrokerState | null): BrokerState {
  if (state !== null) return state;
  throw new TidegateError("TG_STORE_UNAVAILABLE", "the policies are not loaded yet");
}

function policyOf(state: BrokerState, kind: ResourceKind, name: string): string | undefined {
  if (kind === "queue") return state.queues.get(name)?.record.attributes.Policy;
  if (kind === "bucket") return state.buckets.get(name)?.configs?.policy ?? undefined;
  return state.topics.byName.get(name)?.record.attributes.Policy;
}

function createHttpDelivery(
  ports: BrokerPorts,
  signer: NotificationSigner | null,
  submit: Broker["submit"],
): HttpDelivery | null {
  const { http, clock } = ports;
  return http === undefined ? null : new HttpDelivery({ http, clock, signer, submit });
}

interface Services {
  readonly signer: NotificationSigner | null;
  readonly httpDelivery: HttpDelivery | null;
  readonly run: Broker["submit"];
}

/** Runs an operation that needs a service: a topic needs a key, an HTTP endpoint needs delivery. */
async function runPrepared<K extends OperationName>(
  name: K,
  input: OperationInput<K>,
  { signer, httpDelivery, run }: Services,
): Promise<OperationResult<K>> {
  if (name === "createTopic" && signer !== null) await signer.ensure();
  if (name === "subscribe" && httpDelivery === null) {
    const { protocol } = input as OperationInput<"subscribe">;
    if (protocol === "http" || protocol === "https") {
      const reason = `Protocol Reason: ${protocol} is switched off`;
      const refusal = refuse("InvalidParameter", `Invalid parameter: ${reason}`);
      return refusal as OperationResult<K>;
    }
  }
  return run(name, input);
}

async function signResult<K extends OperationName>(
  name: K,
  pending: Promise<OperationResult<K>>,
  signer: NotificationSigner,
): Promise<OperationResult<K>> {
  const result = await pending;
  if (!result.ok) return result;
  if (name === "receive") {
    const { deliveries } = result.value as OperationOutput<"receive">;
    if (deliveries.every(({ unsigned }) => unsigned === undefined)) return result;
    const value = { deliveries: await signer.sign(deliveries) };
    return succeed(value as OperationOutput<K>);
  }
  const { messages, ...rest } = result.value as OperationOutput<"peek">;
  const value = { messages: await signer.sign(messages), ...rest };
  return succeed(value as OperationOutput<K>);
}
