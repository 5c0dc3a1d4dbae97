// Audits: bucket, ledger, sink and queue of a pipeline compared, and the result as a statement.
//   A1. Nothing of the pipeline changes. The ledger is opened for reading; only the summary is
//       stored afterwards, and a ledger that refuses it does not fail the audit.
//   A2. A sink that cannot be listed is not checked, and the statement says so.
//   A3. A repair is a backfill of what is missing. If the statement could not list all of it, the
//       backfill takes in everything below the prefix that the ledger does not have.
//   A4. A repair is a run of its own: it neither continues a backfill that was killed, nor ends it.
//       So its request has a start that no other has, before every object.
//   A5. A repair never applies twice: the object's row decides (decision 0024).

import type { AuditLine } from "../audit/audit-line.ts";
import { listAudits, saveAudit } from "../audit/audit-log.ts";
import {
  type AuditRequest,
  type AuditSources,
  auditSources,
  checkedWindow,
  summaryOf,
} from "../audit/audit-sources.ts";
import type { QueueSnapshot } from "../audit/queue-snapshot.ts";
import { readQueue, UNREAD } from "../audit/read-queue.ts";
import type { AuditProgress } from "../audit/run-audit.ts";
import type { Statement } from "../audit/statement.ts";
import { TidegateError } from "../core/errors.ts";
import { type Progress, progressOfAction, type Report } from "../core/progress.ts";
import { days } from "../core/units.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { AuditSummary } from "../ports/audit.ts";
import type { Ledger } from "../ports/ledger.ts";
import { devNames } from "../run/dev/dev-setup.ts";
import { closeAll } from "../run/open/close-all.ts";
import { openEffects } from "../run/open/open-effects.ts";
import { parseStoreUrl } from "../run/open/store-url.ts";
import { createAuditReader } from "./audits/reader-thread.ts";
import {
  type BackfillRequest,
  type BackfillResult,
  type BackfillStep,
  backfillOf,
} from "./backfill.ts";
import type { Sources } from "./sources.ts";

export { AUDIT_STATUSES, type AuditLine, lineText, notApplied } from "../audit/audit-line.ts";
export type { AuditRequest } from "../audit/audit-sources.ts";
export type { AuditProgress } from "../audit/run-audit.ts";
export type {
  ListedException,
  Statement,
  StatementChanges,
  StatementSegment,
  StatementSignature,
  StatementSubject,
} from "../audit/statement.ts";
export type { AuditSummary } from "../ports/audit.ts";
export type { RowFinding, TableCheck } from "../ports/row-checker.ts";
export {
  checkStatement,
  readEarlierStatement,
  readSigningKey,
  readStatement,
  signStatement,
  verifyStatement,
  writeStatement,
} from "./audits/statement-file.ts";

/**
 * The lines of some object versions, in the order of keys, and how far the audit is; or what does
 * not fail it, such as a queue that cannot be read.
 */
export type AuditStep =
  | ({ readonly kind: "lines"; readonly lines: readonly AuditLine[] } & AuditProgress)
  | { readonly kind: "warning"; readonly message: string };

/** Audits of one pipeline. */
export interface Audits {
  /** Compares bucket, ledger and sink. The ledger keeps a summary of the statement. */
  run(request?: AuditRequest): Progress<AuditStep, Statement>;
  /** Ingests what a statement found missing, by a backfill. */
  repair(
    statement: Statement,
    request?: Pick<BackfillRequest, "signal" | "onLogLine">,
  ): Progress<BackfillStep, BackfillResult>;
  /** Summaries of the latest audits, newest first: 100 unless a number is given, at most 500. */
  list(limit?: number): Promise<readonly AuditSummary[]>;
}

const LISTED = 100;

export function auditsOf(sources: Sources): Audits {
  return {
    run: (request = {}) =>
      progressOfAction((report, signal) => {
        return audit(sources, { ...request, signal }, report);
      }, request.signal),
    repair: (statement, request = {}) => repair(sources, statement, request),
    async list(limit = LISTED) {
      return listAudits(await sources.reader(), await sources.scope(), limit);
    },
  };
}

async function audit(
  sources: Sources,
  request: AuditRequest,
  report: Report<AuditStep>,
): Promise<Statement> {
  const { pipeline } = await sources.run();
  checkedWindow(request, sources.clock.now());
  const warn = (message: string) => void report({ kind: "warning", message });
  const closers: (() => unknown)[] = [];
  let lines: AuditLine[] = [];
  let statement: Statement;
  try {
    const opened = await openSources(sources, pipeline, warn, closers);
    statement = await auditSources(pipeline, opened, request, {
      onLine: (line) => lines.push(line),
      async onProgress(progress) {
        const batch = lines;
        lines = [];
        await report({ kind: "lines", lines: batch, ...progress });
      },
    });
  } finally {
    await closeAll(closers);
  }
  await store(sources, pipeline, statement, warn);
  return statement;
}

async function openSources(
  sources: Sources,
  pipeline: Pipeline,
  warn: (message: string) => void,
  closers: (() => unknown)[],
): Promise<AuditSources> {
  const ledger = await sources.reader(); // A1
  const { effects, rows, what, close } = await openEffects(pipeline, ledger); // A2
  closers.push(close);
  const location = parseStoreUrl(sources.ledgerUrl, "ledger");
  const isFile = location.store === "sqlite";
  const records = isFile ? createAuditReader(ledger, { path: location.path }) : null;
  if (records !== null) closers.push(records.close);
  return {
    clock: sources.clock,
    random: sources.random,
    ledger,
    lister: await sources.lister(),
    effects,
    rows,
    sink: { checked: effects.length > 0, what },
    readQueue: () => readPipelineQueue(sources, pipeline, ledger, warn),
    ...(records !== null && { records }),
  };
}

async function readPipelineQueue(
  sources: Sources,
  pipeline: Pipeline,
  ledger: Ledger,
  warn: (message: string) => void,
): Promise<QueueSnapshot> {
  const queues = await sources
    .queues(async () => devNames(pipeline).queue)
    .catch((error: unknown) => {
      if (!(error instanceof TidegateError) || error.code === "TG_CONFIG_INVALID") throw error;
      warn(`the queue cannot be read: ${error.message}`);
      return null;
    });
  const environment = queues?.environment ?? null;
  if (environment === null) return UNREAD;
  return readQueue(await environment.looks(), pipeline, ledger, sources.clock.now());
}

async function store(
  sources: Sources,
  pipeline: Pipeline,
  statement: Statement,
  warn: (message: string) => void,
): Promise<void> {
  const retentionMs = days(pipeline.retention.ledgerDays);
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  try {
    const { ledger, close } = await sources.openLedger({ retentionMs, create: false });
    try {
      await saveAudit(ledger, scope, summaryOf(statement));
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    warn(`the ledger did not store the result of the audit: ${error.message}`); // A1
  }
}

/** A3 to A5 */
function repair(
  sources: Sources,
  statement: Statement,
  request: Pick<BackfillRequest, "signal" | "onLogLine">,
): Progress<BackfillStep, BackfillResult> {
  const { subject, exceptions, counts } = statement;
  const missing = exceptions.filter(({ status }) => status === "missing");
  const keys = new Set(missing.map(({ key }) => key));
  const isListed = missing.length === counts.missing; // A3
  const { bucket, prefix, suffix = "" } = subject;
  const isMissing = (key: string) => (isListed ? keys.has(key) : key.endsWith(suffix));
  return backfillOf(sources)({
    ...request,
    bucket,
    prefix,
    since: -summaryOf(statement).startedAt, // A4
    ...((isListed || suffix !== "") && { only: ({ key }) => isMissing(key) }),
  });
}
