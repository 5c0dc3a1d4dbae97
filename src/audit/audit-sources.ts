// Audit sources: an audit of what is open already, and its statement.
//   O1. Nothing is written.
//   O2. A pipeline that masks the keys of objects cannot be audited: the ledger does not have them.

import { createMask } from "../core/encoding/mask.ts";
import { formatInstant, parseInstant } from "../core/encoding/rfc3339.ts";
import { refuseConfig, refuseValue } from "../core/errors.ts";
import {
  type DurationMs,
  days,
  type EpochMs,
  epochMs,
  minutes,
  seconds,
  subtractMs,
} from "../core/units.ts";
import { isHeldFailure } from "../ingest/late/held-note.ts";
import { quarantinedSets } from "../ingest/quarantine/quarantine-access.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { listedPartOf } from "../ingest/spec/listed-part.ts";
import type { AuditSummary } from "../ports/audit.ts";
import type { Random } from "../ports/random.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { RowChecker, TableCheck } from "../ports/row-checker.ts";
import type { AuditLine } from "./audit-line.ts";
import { type AuditPorts, type AuditProgress, runAudit } from "./run-audit.ts";
import { type Statement, StatementBuilder } from "./statement.ts";

/** Objects that are younger may still be on their way. */
export const GRACE_MS: DurationMs = minutes(15);
/** How long a removal may take until it is in the queue. */
const PAUSE_MS: DurationMs = seconds(30);
const SUMMARY_EXCEPTIONS = 20;

/** Which part of the bucket is audited, and what it continues. */
export interface AuditRequest {
  /** Objects last modified at this time or later. Default: all. */
  readonly from?: number | undefined;
  /** Exclusive. Default: now. */
  readonly to?: number | undefined;
  /** Default: the bucket of the pipeline. */
  readonly bucket?: string | undefined;
  readonly prefix?: string | undefined;
  /** Only keys that end with this text must have taken effect: the suffix of the notification. */
  readonly suffix?: string | undefined;
  /** How long an event may take to arrive. Default: 15 minutes. */
  readonly graceMs?: number | undefined;
  /** The statement of an earlier window, which this one continues. */
  readonly previous?: Statement | undefined;
  /** Compares the rows of tables, too. Default: false. */
  readonly rows?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface AuditListeners {
  /** Called for every object version, in the order of keys. */
  readonly onLine?: (line: AuditLine) => void;
  /** Called after the lines of each batch. */
  readonly onProgress?: (progress: AuditProgress) => Promise<void>;
}

/** What an audit reads. */
export interface AuditSources extends AuditPorts {
  readonly random: Random;
  readonly sink: Statement["sink"];
  /** Compare the rows of the sink's tables. */
  readonly rows: readonly RowChecker[];
}

interface WindowedPart {
  readonly bucket: string;
  readonly prefix: string;
  readonly from: EpochMs | null;
  readonly to: EpochMs;
}

/** Audits what is open already. */
export async function auditSources(
  pipeline: Pipeline,
  sources: AuditSources,
  request: AuditRequest,
  { onLine, onProgress }: AuditListeners = {},
): Promise<Statement> {
  const { clock, random } = sources;
  const startedAt = clock.now();
  const { bucket, prefix } = listedPartOf(pipeline, request);
  checkMask(pipeline, bucket);
  if (request.rows === true && sources.rows.length === 0) {
    refuseValue(
      `no rows can be compared, as ${sources.sink.what}; leave the comparison of rows out`,
    );
  }
  const { previous = null, graceMs = GRACE_MS, signal = new AbortController().signal } = request;
  const { from, to } = checkedWindow(request, startedAt);
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const filter =
    request.suffix === undefined || request.suffix === "" ? {} : { suffix: request.suffix };
  const subject = { ...scope, bucket, prefix, ...filter };
  if (previous !== null) checkPrevious(previous, { subject, from, to });
  const retentionMs = days(pipeline.retention.ledgerDays);
  const forgetsBefore = subtractMs(startedAt, retentionMs);
  const builder = new StatementBuilder({ subject, from, to, forgetsBefore, previous });
  const queue = await runAudit(
    sources,
    {
      scope,
      bucket,
      prefix,
      suffix: request.suffix,
      from,
      to,
      startedAt,
      graceMs: graceMs as DurationMs,
      pauseMs: PAUSE_MS,
      retentionMs,
      isHeld: isHeldFailure,
      handlesRemovals: pipeline.onRemoved !== "ignore",
    },
    (line) => {
      builder.add(line);
      onLine?.(line);
    },
    signal,
    onProgress,
  );
  await addQuarantined(builder, sources, scope, { bucket, prefix, from, to });
  return builder.end({
    id: random.uuid(),
    startedAt: formatInstant(startedAt),
    endedAt: formatInstant(clock.now()),
    sink: sources.sink,
    queue: { read: queue.kind, messages: queue.messages },
    rows: request.rows === true ? await checkRows(sources, signal) : null,
    graceMs,
  });
}

async function checkRows({ rows }: AuditSources, signal: AbortSignal): Promise<TableCheck[]> {
  const checks: TableCheck[] = [];
  for (const checker of rows) checks.push(await checker.check(signal));
  return checks;
}

/** Open sets of events in the window; read last, so that every commit that was seen counts. */
async function addQuarantined(
  builder: StatementBuilder,
  { ledger }: AuditSources,
  scope: LedgerScope,
  { bucket, prefix, from, to }: WindowedPart,
): Promise<void> {
  for await (const set of quarantinedSets(ledger, scope)) {
    const { event } = set.facts;
    const at = instantOf(event.event_time);
    if (event.bucket !== bucket || !event.key.startsWith(prefix)) continue;
    if (at >= to || (from !== null && at < from)) continue;
    builder.addQuarantined(at, set.rows.length);
  }
}

/** Throws TG_VALUE_INVALID for a window that cannot be audited. */
export function checkedWindow(
  request: AuditRequest,
  now: EpochMs,
): { from: EpochMs | null; to: EpochMs } {
  const { previous } = request;
  const earlier = previous?.window.from ?? null;
  const start = request.from ?? (earlier === null ? null : instantOf(earlier));
  const from = start === null ? null : epochMs(start);
  const to = epochMs(request.to ?? now);
  if (from !== null && from > now) {
    refuseValue(`the start ${formatInstant(from)} is in the future; no object can match`);
  }
  if (to > now)
    refuseValue(`the end ${formatInstant(to)} is in the future; an audit judges the past`);
  if (from !== null && from >= to) {
    refuseValue(`the start ${formatInstant(from)} is not before the end ${formatInstant(to)}`);
  }
  return { from, to };
}

function checkPrevious(
  previous: Statement,
  { subject, from, to }: { subject: Statement["subject"]; from: EpochMs | null; to: EpochMs },
): void {
  for (const name of ["pipeline", "generation", "bucket", "prefix", "suffix"] as const) {
    if (previous.subject[name] === subject[name]) continue;
    refuseValue(
      `the earlier statement is about ${name} ${JSON.stringify(previous.subject[name])}, ` +
        `not ${JSON.stringify(subject[name])}; leave previous out`,
    );
  }
  const start = from === null ? null : formatInstant(from);
  if (previous.window.from !== start) {
    refuseValue("the start differs from that of the earlier statement; leave it out");
  }
  if (instantOf(previous.window.to) > to) {
    refuseValue(`the end is before that of the earlier statement, ${previous.window.to}`);
  }
}

function checkMask({ mask }: Pipeline, bucket: string): void {
  if (createMask(mask).secretsOf({ object: { bucket, key: "key" } }).length === 0) return;
  const message = "the pipeline masks the keys of objects; the ledger has no keys to compare";
  refuseConfig(message); // O2
}

function instantOf(text: string): EpochMs {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : refuseValue(`${text} is not a time`);
}

/** The short form that the ledger keeps. */
export function summaryOf(statement: Statement): AuditSummary {
  const { id, subject, window, verdict, counts, digest, exceptions, sink } = statement;
  const { sets, rows } = statement.quarantined;
  const { bucket, prefix, suffix } = subject;
  return {
    id,
    startedAt: instantOf(statement.startedAt),
    endedAt: instantOf(statement.endedAt),
    bucket,
    prefix,
    ...(suffix !== undefined && { suffix }),
    from: window.from === null ? null : instantOf(window.from),
    to: instantOf(window.to),
    verdict,
    counts,
    quarantined: { sets, rows },
    digest,
    exceptions: exceptions
      .slice(0, SUMMARY_EXCEPTIONS)
      .map(({ key, versionId, status, reason }) => ({ key, versionId, status, reason })),
    sinkChecked: sink.checked,
  };
}
