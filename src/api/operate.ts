// `tidegate/operate`: what the commands ask of a pipeline and do to it, for programs.

export { TidegateError } from "../core/errors.ts";
export type { Progress } from "../core/progress.ts";
export type {
  CheckedStatement,
  EarlierKeys,
  StatementProof,
} from "../operate/audits/statement-file.ts";
export {
  type AuditLine,
  type AuditProgress,
  type AuditRequest,
  type AuditStep,
  type AuditSummary,
  type Audits,
  checkStatement,
  type ListedException,
  readEarlierStatement,
  readSigningKey,
  readStatement,
  type Statement,
  type StatementChanges,
  type StatementSegment,
  type StatementSignature,
  type StatementSubject,
  signStatement,
  verifyStatement,
  writeStatement,
} from "../operate/audits.ts";
export type {
  Backfill,
  BackfillProgress,
  BackfillRequest,
  BackfillResult,
  BackfillStep,
} from "../operate/backfill.ts";
export type {
  Completeness,
  CompletenessReader,
  Holder,
  PipelineCompleteness,
  WaitRequest,
} from "../operate/completeness.ts";
export {
  type Contract,
  type ContractChange,
  describeContract,
  diffContracts,
} from "../operate/contracts.ts";
export type {
  DeadLetterAccess,
  DeadLetterEntry,
  DeadLetterGroup,
  DeadLetterListRequest,
  DeadLetterSelection,
  DeadLetters,
  Dossier,
  DropEvent,
  DropRequest,
  DropSummary,
  EditedCopy,
  RedriveEvent,
  RedriveItem,
  RedriveRequest,
  RedriveSummary,
} from "../operate/dead-letters.ts";
export {
  type Examination,
  type ExamineOptions,
  examine,
  type Finding,
} from "../operate/doctor.ts";
export {
  type BackupReport,
  backupFolder,
  type CompactReport,
  compactStores,
  type RestoreReport,
  restoreFolder,
} from "../operate/folders.ts";
export type {
  EventHistories,
  EventHistory,
  RetriedRecord,
  RetryOutcome,
} from "../operate/history.ts";
export {
  compareResources,
  type InfraComparison,
  type InfraDifference,
  type InfraOptions,
  type InfraPlan,
  planResources,
  writeTerraform,
} from "../operate/infra.ts";
export type {
  BatchJob,
  BatchReport,
  Job,
  JobAccess,
  JobInput,
  JobInputs,
  JobRetryOptions,
  JobRetrySummary,
  JobStatus,
  LeasedJobs,
  RegisterBatchResult,
  RegisterOptions,
  SweepOptions,
  SweepReport,
} from "../operate/jobs.ts";
export type {
  HeldFilter,
  LateRecords,
  ListedHeld,
  ReleaseEvent,
  ReleaseRequest,
  ReleaseSummary,
} from "../operate/late.ts";
export type { LedgerAccess, LedgerCheck, RecordView, ScopeStats } from "../operate/ledgers.ts";
export type { LineageAnswer, LineageFormat, LineageReader, OwnedRow } from "../operate/lineage.ts";
export { type Operator, openOperator } from "../operate/open-operator.ts";
export type { OutboxAccess, OutboxCounts, RelayReport } from "../operate/outbox.ts";
export type {
  CountedStatus,
  Pause,
  PauseOrder,
  PipelineControl,
  PipelineStatus,
} from "../operate/pause.ts";
export type {
  QuarantinedRows,
  QuarantinedSet,
  QuarantineRedriveRequest,
  QuarantineRedriveSummary,
  QuarantineSelection,
  RedrivenSet,
} from "../operate/quarantine.ts";
export type {
  DuplicatedRecord,
  ProcessedRecord,
  RecordList,
  RecordListOptions,
  RecordLists,
  RecordSelection,
} from "../operate/records.ts";
export {
  type CheckedPlan,
  type Promotion,
  parseRunManifest,
  type ReplayEntry,
  type ReplayProgress,
  type ReplayRunOptions,
  type ReplaySelection,
  type ReplayState,
  type ReplayStatus,
  type ReplayStep,
  type Replays,
  type Reproduction,
  type RowDifference,
  type TableContent,
  type TableDifference,
} from "../operate/replays/replays.ts";
export type { ListedRun, RunReader } from "../operate/runs.ts";
export type { SourceOptions } from "../operate/sources.ts";
export type { AuditCounts, AuditException, AuditStatus, AuditVerdict } from "../ports/audit.ts";
