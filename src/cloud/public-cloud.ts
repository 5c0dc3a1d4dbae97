// Public cloud: a started cloud as users get it, without its broker.
//   P1. The broker's operations change with any version. Users call the endpoint, or open queues
//       and objects. Code in this package finds the broker by the cloud's identity.

import type { Broker } from "../broker/engine/broker.ts";
import { refuseValue } from "../core/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** A started embedded cloud. Disposing it closes it. */
export interface PublicCloud extends AsyncDisposable {
  /** The URL for clients: `http://host:port`. */
  readonly endpoint: string;
  readonly port: number;
  /** The time by which messages become visible and expire. */
  readonly clock: Clock;
  /** Reads the cloud's objects, pinned to the versions in events, without HTTP. */
  readonly objects: ObjectSource;
  /** Answers requests in flight, then stops. May be called again. */
  close(): Promise<void>;
}

/** A cloud whose time moves only when a test advances it. */
export interface PublicVirtualCloud extends PublicCloud {
  readonly clock: VirtualClock;
}

const brokers = new WeakMap<PublicCloud, Broker>();

/** The same cloud without its broker (P1). */
export function withoutBroker<
  C extends PublicCloud & { readonly broker: Broker; readonly inside: object },
>(cloud: C): Omit<C, "broker" | "inside"> {
  const { broker, inside: _, ...rest } = cloud;
  brokers.set(rest, broker);
  return rest;
}

/** The broker of a cloud that `withoutBroker` returned. */
export function brokerBehind(cloud: PublicCloud): Broker {
  const broker = brokers.get(cloud);
  if (broker !== undefined) return broker;
  const message =
    "createCloudQueue() needs the object that startCloud() returned, not a copy of it";
  refuseValue(message);
}
