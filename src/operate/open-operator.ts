// Operator: what a person on call can ask of a pipeline and do to it. The commands, the console and
// programs use the same functions.
//   O1. Nothing is opened until the first call needs it (S2 of sources.ts).
//   O2. A long action returns its progress: iterate over its steps, or await `result()`.

import { type Audits, auditsOf } from "./audits.ts";
import { type Backfill, backfillOf } from "./backfill.ts";
import { type CompletenessReader, completenessOf } from "./completeness.ts";
import { type DeadLetters, deadLettersOf } from "./dead-letters.ts";
import { type EventHistories, historiesOf } from "./history.ts";
import { type JobAccess, jobsOf } from "./jobs.ts";
import { type LateRecords, lateRecordsOf } from "./late.ts";
import { type LedgerAccess, ledgerOf } from "./ledgers.ts";
import { type LineageReader, lineageOf } from "./lineage.ts";
import { type OutboxAccess, outboxOf } from "./outbox.ts";
import { type PipelineControl, pipelineControlOf } from "./pause.ts";
import { type QuarantinedRows, quarantinedRowsOf } from "./quarantine.ts";
import { type RecordLists, recordListsOf } from "./records.ts";
import { type Replays, replaysOf } from "./replays/replays.ts";
import { type RunReader, runsOf } from "./runs.ts";
import { type SourceOptions, Sources } from "./sources.ts";

/** One pipeline, or all pipelines of a ledger. Close it to release what it opened. */
export interface Operator extends AsyncDisposable {
  /** Messages that could not be processed. */
  readonly deadLetters: DeadLetters;
  /** Records that were too late. */
  readonly late: LateRecords;
  /** Rows that a schema rejected. */
  readonly quarantine: QuarantinedRows;
  /** Pauses, resumes and watches the pipeline. */
  readonly control: PipelineControl;
  /** Up to which event time the pipeline is complete. */
  readonly completeness: CompletenessReader;
  /** What happened to an event. */
  readonly history: EventHistories;
  /** What the ledger has processed. */
  readonly records: RecordLists;
  /** What runs read and wrote. */
  readonly lineage: LineageReader;
  /** The runs of a ledger, and their manifests. */
  readonly runs: RunReader;
  /** Batches of jobs that the pipeline processes. */
  readonly jobs: JobAccess;
  /** What producers left pending. */
  readonly outbox: OutboxAccess;
  /** The store behind the pipeline. */
  readonly ledger: LedgerAccess;
  /** Compares bucket, ledger and sink, and repairs what is missing. */
  readonly audits: Audits;
  /** Takes what is in the bucket through the pipeline. */
  readonly backfill: Backfill;
  /** Runs past records again, into a shadow of the tables. */
  readonly replays: Replays;
  close(): Promise<void>;
}

/** Opens an operator. `await using` closes it at the end of the block. */
export function openOperator(options: SourceOptions = {}): Operator {
  const sources = new Sources(options);
  const close = () => sources.close();
  return {
    deadLetters: deadLettersOf(sources),
    late: lateRecordsOf(sources),
    quarantine: quarantinedRowsOf(sources),
    control: pipelineControlOf(sources),
    completeness: completenessOf(sources),
    history: historiesOf(sources),
    records: recordListsOf(sources),
    lineage: lineageOf(sources),
    runs: runsOf(sources),
    jobs: jobsOf(sources),
    outbox: outboxOf(sources),
    ledger: ledgerOf(sources),
    audits: auditsOf(sources),
    backfill: backfillOf(sources),
    replays: replaysOf(sources),
    close,
    [Symbol.asyncDispose]: close,
  };
}
