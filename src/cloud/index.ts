// What `tidegate/broker` exports: names only.

export { TidegateError } from "../core/errors.ts";
export { type Cloud, type CloudOptions, startCloud, type VirtualCloud } from "./start-cloud.ts";
export type { VirtualClock } from "./virtual-clock.ts";
