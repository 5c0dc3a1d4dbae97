// `tidegate/testkit`: what users import in their tests.

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
export type { MessageSample, ObjectSample, ProofSample } from "../testkit/proof/proof-samples.ts";
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
