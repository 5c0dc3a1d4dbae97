// What `tidegate/testkit` exports: names only.

export {
  ComplianceError,
  type ComplianceOptions,
  type ComplianceResult,
  type ComplianceTest,
  complianceReport,
  complianceTests,
  runCompliance,
} from "./compliance/compliance.ts";
export type {
  ComplianceEvent,
  ProducedMessage,
  ProducerTools,
  ProducerUnderTest,
} from "./compliance/compliance-world.ts";
export type { MessageSample, ObjectSample, ProofSample } from "./proof/proof-samples.ts";
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
} from "./proof/prove-handler.ts";
