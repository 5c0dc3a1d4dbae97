// The exports of `tidegate/cloud`: names only.

export type { FaultSpec } from "../broker/model/fault-plan.ts";
export { TidegateError } from "../core/errors.ts";
export { type BrokerQueueOptions, createBrokerQueue } from "./broker-queue.ts";
export type { CloudSetup } from "./setup/cloud-setup.ts";
export { type Cloud, type CloudOptions, startCloud, type VirtualCloud } from "./start-cloud.ts";
export type { VirtualClock } from "./virtual-clock.ts";
