// What `tidegate/testkit` exports: names only.

export {
  ComplianceError,
  type ComplianceOptions,
  type ComplianceResult,
  type ComplianceTest,
  complianceReport,
  complianceTests,
  runCompliance,
} from "./compliance.ts";
export type {
  ComplianceEvent,
  ProducedMessage,
  ProducerTools,
  ProducerUnderTest,
} from "./compliance-world.ts";
