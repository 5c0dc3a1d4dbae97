// The broker: the engine behind the face that the wire and embedders see, with those who serve it
// beside the engine: the seal that signs notifications, and the courier to http endpoints.

import { succeed } from "../../core/result.ts";
import type { HttpClient } from "../../ports/http-client.ts";
import type { Signer } from "../../ports/signer.ts";
import { refuse } from "../model/fault.ts";
import { FaultPlan } from "../model/fault-plan.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  OperationResult,
} from "../model/operations.ts";
import type { Broker } from "./broker.ts";
import { Engine, type EnginePorts } from "./engine.ts";
import { HttpDelivery } from "./http-delivery.ts";
import { NotificationSigner } from "./notification-signer.ts";
import type { AnyResult, PendingOperation } from "./pending-operation.ts";

/** Bodies kept in memory beside the disk; more waits on disk alone. */
const CONTENT_CACHE_BYTES_MAX = 262_144;

export interface BrokerPorts extends EnginePorts {
  /** Without one, notifications carry no signature. */
  readonly signer?: Signer;
  /** Without one, http endpoints can not be subscribed. */
  readonly http?: HttpClient;
}

export interface BrokerOptions {
  readonly account: string;
  readonly region: string;
  readonly contentCacheBytesMax?: number;
  /** Whether queue policies decide what topics may deliver to queues; off unless asked for. */
  readonly enforcePolicies?: boolean;
}

/** Opens the store and takes up where it was left; rejects if it can not be read. */
export async function createBroker(ports: BrokerPorts, options: BrokerOptions): Promise<Broker> {
  const { account, region, enforcePolicies = false } = options;
  const draws = ports.random.fork("receipt-handles");
  const secret = [draws.below(2 ** 32), draws.below(2 ** 32)] as const;
  const cacheBytesMax = options.contentCacheBytesMax ?? CONTENT_CACHE_BYTES_MAX;
  const faults = new FaultPlan();
  const identity = { account, region, secret, enforcePolicies, faults };
  const engine = new Engine(ports, identity, cacheBytesMax);
  const run: Broker["submit"] = (name, input, signal) =>
    new Promise((resolve, reject) => {
      // The engine answers every job with the outcome of its own operation.
      const answer = resolve as (result: AnyResult) => void;
      engine.submit({ name, input, signal, resolve: answer, reject } satisfies PendingOperation);
    });
  const seal = ports.signer === undefined ? null : new NotificationSigner(ports.signer, run);
  const courier = createCourier(ports, seal, run);
  if (courier !== null) engine.onOutgoing = (dueAt, now) => courier.expect(dueAt, now);
  await engine.open();
  return {
    account,
    region,
    faults,
    get healthy() {
      return engine.healthy;
    },
    submit: (name, input, signal) => {
      // Everything but these few goes straight to the engine: this is the hot path.
      if (name === "createTopic" || name === "subscribe") {
        return runPrepared(name, input, { seal, courier, run });
      }
      const outcome = run(name, input, signal);
      const readable = name === "receive" || name === "peek";
      return seal !== null && readable ? sealOutcome(name, outcome, seal) : outcome;
    },
    async idle() {
      do {
        await engine.idle();
        await courier?.idle();
      } while (courier?.busy);
      await engine.idle();
    },
    async close() {
      await courier?.close();
      await engine.close();
    },
  };
}

function createCourier(
  ports: BrokerPorts,
  seal: NotificationSigner | null,
  submit: Broker["submit"],
): HttpDelivery | null {
  const { http, clock } = ports;
  return http === undefined ? null : new HttpDelivery({ http, clock, seal, submit });
}

interface Servants {
  readonly seal: NotificationSigner | null;
  readonly courier: HttpDelivery | null;
  readonly run: Broker["submit"];
}

/** Runs an operation once what it rests on is there: a key for a topic, a courier for http. */
async function runPrepared<K extends OperationName>(
  name: K,
  input: OperationInput<K>,
  { seal, courier, run }: Servants,
): Promise<OperationResult<K>> {
  if (name === "createTopic" && seal !== null) await seal.ensure();
  if (name === "subscribe" && courier === null) {
    const { protocol } = input as OperationInput<"subscribe">;
    if (protocol === "http" || protocol === "https") {
      const reason = `Protocol Reason: ${protocol} is switched off`;
      const refusal = refuse("InvalidParameter", `Invalid parameter: ${reason}`);
      return refusal as OperationResult<K>;
    }
  }
  return run(name, input);
}

async function sealOutcome<K extends OperationName>(
  name: K,
  pending: Promise<OperationResult<K>>,
  seal: NotificationSigner,
): Promise<OperationResult<K>> {
  const outcome = await pending;
  if (!outcome.ok) return outcome;
  if (name === "receive") {
    const { deliveries } = outcome.value as OperationOutput<"receive">;
    if (deliveries.every(({ unsigned }) => unsigned === undefined)) return outcome;
    const value = { deliveries: await seal.seal(deliveries) };
    return succeed(value as OperationOutput<K>);
  }
  const { messages, ...rest } = outcome.value as OperationOutput<"peek">;
  const value = { messages: await seal.seal(messages), ...rest };
  return succeed(value as OperationOutput<K>);
}
