// `tidegate/cloud`: the embedded cloud.

import { type BrokerQueueOptions, createBrokerQueue } from "../cloud/broker-queue.ts";
import type { CloudOptions, FaultSpec } from "../cloud/cloud-options.ts";
import {
  brokerBehind,
  type PublicCloud as Cloud,
  type PublicVirtualCloud as VirtualCloud,
  withoutBroker,
} from "../cloud/public-cloud.ts";
import * as embedded from "../cloud/start-cloud.ts";
import type { Queue } from "../ports/queue-receiver.ts";

export type { CloudSetup } from "../cloud/setup/cloud-setup.ts";
export type { VirtualClock } from "../cloud/virtual-clock.ts";
export { TidegateError } from "../core/errors.ts";
export type { Cloud, CloudOptions, FaultSpec, Queue, VirtualCloud };

/** Starts an embedded S3, SNS and SQS in this process and resolves once it answers requests. */
export function startCloud(
  options: CloudOptions & { readonly clock: "virtual" },
): Promise<VirtualCloud>;
export function startCloud(options?: CloudOptions): Promise<Cloud>;
export async function startCloud(options: CloudOptions = {}): Promise<Cloud> {
  return withoutBroker(await embedded.startCloud(options));
}

/** Which queue of the cloud to open. */
export type CloudQueueOptions = BrokerQueueOptions;

/** A queue of a started cloud, without HTTP. It must exist when it is first used. */
export function createCloudQueue(cloud: Cloud, options: CloudQueueOptions): Queue {
  return createBrokerQueue(brokerBehind(cloud), options);
}
