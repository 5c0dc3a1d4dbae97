// `tidegate/run`: pipelines on AWS, on any endpoint, or on the embedded cloud.

export type { AuditLine } from "../audit/audit-line.ts";
export type { AuditProgress } from "../audit/run-audit.ts";
export type {
  ListedException,
  Statement,
  StatementChanges,
  StatementSegment,
  StatementSignature,
  StatementSubject,
} from "../audit/statement.ts";
export { TidegateError } from "../core/errors.ts";
export type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
export type { AuditCounts, AuditException, AuditStatus, AuditVerdict } from "../ports/audit.ts";
export { type AuditCall, audit } from "../run/audit/open-audit.ts";
export {
  readSigningKey,
  readStatement,
  signStatement,
  verifyStatement,
  writeStatement,
} from "../run/audit/statement-file.ts";
export type { RunSettings } from "../run/config.ts";
export type { Feed, FeedFile } from "../run/dev/feed.ts";
export { type DevOptions, type RunningDev, startDev } from "../run/dev/start-dev.ts";
export { loadPipeline } from "../run/open/load-pipeline.ts";
export type { RunningPipeline, StartOptions } from "../run/run-pipeline.ts";
export { startPipeline } from "../run/start-pipeline.ts";
