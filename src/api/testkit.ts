// `tidegate/testkit`: what users import in their tests.

export type {
  DeadLetterEntry as DeadLetter,
  DeadLetterSelection as DeadLetterFilter,
} from "../ingest/dead-letters/dead-letter-access.ts";
export type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
export {
  ComplianceError,
  type ComplianceOptions,
  type ComplianceResult,
  type ComplianceTest,
  complianceReport,
  complianceTests,
  runCompliance,
} from "../testkit/compliance/compliance.ts";
export type {
  ComplianceEvent,
  ProducedMessage,
  ProducerTools,
  ProducerUnderTest,
} from "../testkit/compliance/compliance-world.ts";
export type {
  FunctionInvocation,
  MappedContext,
  MappedFunction,
} from "../testkit/lambda/event-source-mapping.ts";
export {
  type EventSourceMapping,
  type EventSourceMappingOptions,
  startEventSourceMapping,
} from "../testkit/lambda/start-event-source-mapping.ts";
export type {
  MessageSample,
  ObjectSample,
  OwnSample,
  ProofSample,
} from "../testkit/proof/proof-samples.ts";
export {
  type FetchStub,
  handlerProof,
  ProofError,
  type ProofFailure,
  type ProofProgress,
  type ProofReport,
  type ProveOptions,
  proofText,
  proveHandler,
} from "../testkit/proof/prove-handler.ts";
export type { TestMessage } from "../testkit/test-message.ts";
export {
  startTestPipeline,
  type TestPipeline,
  type TestPipelineOptions,
} from "../testkit/test-pipeline.ts";
export type { QuarantinedRow } from "../testkit/test-quarantine.ts";
