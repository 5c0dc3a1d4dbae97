// What `tidegate/produce` exports: names only.

export { TidegateError } from "../core/errors.ts";
export {
  type BuiltEnvelope,
  buildEnvelope,
  type EnvelopeInput,
  envelopeKey,
  type MessageEnvelope,
  messageDedupId,
  validateEnvelope,
} from "../core/events/envelope.ts";
export type { TraceContext } from "../core/events/trace-context.ts";
export { withPayload } from "./claim-check.ts";
export { fixedGroups, type GroupStrategy, perEntity, perTenant } from "./group-strategy.ts";
export { createJobRegistry, type Job, type JobRegistry } from "./jobs.ts";
export { METRICS, PRODUCER_METRICS } from "./metrics.ts";
export type { EventInput, SendContext } from "./prepare.ts";
export {
  createProducer,
  type Producer,
  type ProducerOptions,
  type ProducerPorts,
  type SendResult,
} from "./producer.ts";
export { createRelay, type Relay, type RelayOptions, type RelayReport } from "./relay.ts";
export { type SendFailure, sendAll } from "./send-all.ts";
export { createSweeper, type Sweeper, type SweepReport } from "./sweeper.ts";
