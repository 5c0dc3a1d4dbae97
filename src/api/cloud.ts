// `tidegate/cloud`: the embedded cloud.

import { type BrokerQueueOptions, createBrokerQueue } from "../cloud/broker-queue.ts";
import type { Cloud } from "../cloud/start-cloud.ts";
import type { Queue } from "../ports/queue-receiver.ts";

export type { FaultSpec } from "../broker/model/fault-plan.ts";
export type { CloudSetup } from "../cloud/setup/cloud-setup.ts";
export {
  type Cloud,
  type CloudOptions,
  startCloud,
  type VirtualCloud,
} from "../cloud/start-cloud.ts";
export type { VirtualClock } from "../cloud/virtual-clock.ts";
export { TidegateError } from "../core/errors.ts";

export type CloudQueueOptions = BrokerQueueOptions;

/** A queue of a started cloud, without HTTP. It must exist when it is first used. */
export function createCloudQueue(cloud: Cloud, options: CloudQueueOptions): Queue {
  return createBrokerQueue(cloud.broker, options);
}
