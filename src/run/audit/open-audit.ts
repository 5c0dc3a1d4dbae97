// Open audit: a pipeline's bucket, ledger, sink and queue, opened for reading, and the statement.
//   O1. Nothing of the pipeline changes. The ledger is opened for reading; only the summary is
//       stored afterwards, and a ledger that refuses it does not fail the audit.
//   O2. A sink that cannot be listed is not checked, and the statement says so.
//   O3. A pipeline that masks the keys of objects cannot be audited: the ledger does not have them.

import type { AuditLine } from "../../audit/audit-line.ts";
import { saveAudit } from "../../audit/audit-log.ts";
import type { QueueSnapshot } from "../../audit/queue-snapshot.ts";
import { type AuditProgress, runAudit } from "../../audit/run-audit.ts";
import { type Statement, StatementBuilder } from "../../audit/statement.ts";
import { createMask } from "../../core/encoding/mask.ts";
import { formatInstant, parseInstant } from "../../core/encoding/rfc3339.ts";
import { TidegateError } from "../../core/errors.ts";
import {
  type DurationMs,
  days,
  type EpochMs,
  epochMs,
  minutes,
  seconds,
  subtractMs,
} from "../../core/units.ts";
import { isHeldFailure } from "../../ingest/late/held-note.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import type { EffectLister } from "../../ports/effect-lister.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectLister } from "../../ports/objects/object-lister.ts";
import { requestOf } from "../backfill/open-backfill.ts";
import type { RunSettings } from "../config.ts";
import { devNames } from "../dev/dev-setup.ts";
import { lateQueueOf } from "../late/open-completeness.ts";
import { openAwsEnvironment, openAwsLister } from "../open/aws-environment.ts";
import { closeAll } from "../open/close-all.ts";
import { findServer } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import { type PreparedRun, prepareRun } from "../prepare-run.ts";
import { openEffects } from "./open-effects.ts";
import { readQueue, UNREAD } from "./read-queue.ts";
import { type AuditReader, createAuditReader } from "./reader-thread.ts";

/** Objects that are younger may still be on their way. */
export const GRACE_MS: DurationMs = minutes(15);
/** How long a removal may take until it is in the queue. */
const PAUSE_MS: DurationMs = seconds(30);
const SUMMARY_EXCEPTIONS = 20;

/** An audit that is asked for. */
export interface AuditCall {
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
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: AuditProgress) => void;
  /** Called for every object version, in the order of keys. */
  readonly onLine?: (line: AuditLine) => void;
  /** Called if the summary cannot be stored (O1). */
  readonly onWarning?: (message: string) => void;
}

/** What an audit reads. */
export interface AuditSources {
  readonly ledger: Ledger;
  readonly lister: ObjectLister;
  readonly effects: readonly EffectLister[];
  readonly sink: Statement["sink"];
  readonly readQueue: () => Promise<QueueSnapshot>;
  /** Another reader of the same ledger. */
  readonly records?: AuditReader;
}

/** Compares bucket, ledger and sink of a pipeline, as `tidegate audit` does. */
export async function audit(
  pipeline: Pipeline,
  settings: RunSettings,
  call: AuditCall = {},
): Promise<Statement> {
  const prepared = prepareRun("run", pipeline, settings);
  checkedWindow(call, systemPorts.clock.now());
  const closers: (() => unknown)[] = [];
  try {
    const sources = await openSources(prepared, call, closers);
    const statement = await auditSources(prepared.pipeline, sources, call);
    await store(prepared, statement, call);
    return statement;
  } finally {
    await closeAll(closers);
  }
}

/** Audits what is open already. */
export async function auditSources(
  pipeline: Pipeline,
  sources: AuditSources,
  call: AuditCall,
): Promise<Statement> {
  const { clock, random } = systemPorts;
  const startedAt = clock.now();
  const { bucket, prefix } = requestOf(pipeline, {
    bucket: call.bucket,
    ...(call.prefix !== undefined && { prefix: call.prefix }),
  });
  checkMask(pipeline, bucket);
  const { previous = null, graceMs = GRACE_MS, signal = new AbortController().signal } = call;
  const { from, to } = checkedWindow(call, startedAt);
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const filter = call.suffix === undefined || call.suffix === "" ? {} : { suffix: call.suffix };
  const subject = { ...scope, bucket, prefix, ...filter };
  if (previous !== null) checkPrevious(previous, { subject, from, to });
  const retentionMs = days(pipeline.ledgerRetentionDays);
  const forgetsBefore = subtractMs(startedAt, retentionMs);
  const builder = new StatementBuilder({ subject, from, to, forgetsBefore, previous });
  const queue = await runAudit(
    { clock, ...sources },
    {
      scope,
      bucket,
      prefix,
      suffix: call.suffix,
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
      call.onLine?.(line);
    },
    signal,
    call.onProgress,
  );
  return builder.end({
    id: random.uuid(),
    startedAt: formatInstant(startedAt),
    endedAt: formatInstant(clock.now()),
    sink: sources.sink,
    queue: { read: queue.kind, messages: queue.messages },
    graceMs,
  });
}

function checkedWindow(call: AuditCall, now: EpochMs): { from: EpochMs | null; to: EpochMs } {
  const { previous } = call;
  const earlier = previous?.window.from ?? null;
  const start = call.from ?? (earlier === null ? null : instantOf(earlier));
  const from = start === null ? null : epochMs(start);
  const to = epochMs(call.to ?? now);
  if (from !== null && from > now) {
    refuse(`the start ${formatInstant(from)} is in the future; no object can match`);
  }
  if (to > now) refuse(`the end ${formatInstant(to)} is in the future; an audit judges the past`);
  if (from !== null && from >= to) {
    refuse(`the start ${formatInstant(from)} is not before the end ${formatInstant(to)}`);
  }
  return { from, to };
}

function checkPrevious(
  previous: Statement,
  { subject, from, to }: { subject: Statement["subject"]; from: EpochMs | null; to: EpochMs },
): void {
  for (const name of ["pipeline", "generation", "bucket", "prefix", "suffix"] as const) {
    if (previous.subject[name] === subject[name]) continue;
    refuse(
      `the earlier statement is about ${name} ${JSON.stringify(previous.subject[name])}, ` +
        `not ${JSON.stringify(subject[name])}; audit without --since-statement`,
    );
  }
  const start = from === null ? null : formatInstant(from);
  if (previous.window.from !== start) {
    refuse("the start differs from that of the earlier statement; leave it out");
  }
  if (instantOf(previous.window.to) > to) {
    refuse(`the end is before that of the earlier statement, ${previous.window.to}`);
  }
}

function checkMask({ mask }: Pipeline, bucket: string): void {
  if (createMask(mask).secretsOf({ object: { bucket, key: "key" } }).length === 0) return;
  const message = "the pipeline masks the keys of objects; the ledger has no keys to compare";
  throw new TidegateError("TG_CONFIG_INVALID", message); // O3
}

function instantOf(text: string): EpochMs {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : refuse(`${text} is not a time`);
}

function refuse(message: string): never {
  throw new TidegateError("TG_VALUE_INVALID", message);
}

async function openSources(
  { pipeline, settings }: PreparedRun,
  call: AuditCall,
  closers: (() => unknown)[],
): Promise<AuditSources> {
  const { ledger: url, deadLetterQueue } = settings;
  const server = await findServer(settings);
  const ledger = await openLedger(url, systemPorts, { readOnly: true }); // O1
  closers.push(() => ledger.close());
  const { effects, what, close } = await openEffects(pipeline, ledger); // O2
  closers.push(close);
  const location = parseStoreUrl(url, "ledger");
  const isFile = location.store === "sqlite";
  const records = isFile ? createAuditReader(ledger, { path: location.path }) : null;
  if (records !== null) closers.push(records.close);
  const listing = await openAwsLister(server);
  closers.push(listing.close);
  const readPipelineQueue = async (): Promise<QueueSnapshot> => {
    const queue = settings.queue ?? pipeline.source.queue ?? devNames(pipeline).queue;
    const lateQueue = lateQueueOf(pipeline);
    const queues = { queue, deadLetterQueue, lateQueue, server };
    const environment = await openAwsEnvironment(queues).catch((error: unknown) => {
      if (!(error instanceof TidegateError) || error.code === "TG_CONFIG_INVALID") throw error;
      call.onWarning?.(`the queue cannot be read: ${error.message}`);
      return null;
    });
    if (environment === null) return UNREAD;
    try {
      return await readQueue(await environment.looks(), pipeline, ledger, systemPorts.clock.now());
    } finally {
      await environment.close();
    }
  };
  const sink = { checked: effects.length > 0, what };
  const sources = { ledger, lister: listing.lister, effects, sink, readQueue: readPipelineQueue };
  return records === null ? sources : { ...sources, records };
}

/** The short form that the ledger keeps. */
export function summaryOf(statement: Statement): AuditSummary {
  const { id, subject, window, verdict, counts, digest, exceptions, sink } = statement;
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
    digest,
    exceptions: exceptions
      .slice(0, SUMMARY_EXCEPTIONS)
      .map(({ key, versionId, status, reason }) => ({ key, versionId, status, reason })),
    sinkChecked: sink.checked,
  };
}

async function store(
  { settings, pipeline }: PreparedRun,
  statement: Statement,
  { onWarning }: AuditCall,
): Promise<void> {
  const { acceptClock = false, ledger: url } = settings;
  const retentionMs = days(pipeline.ledgerRetentionDays);
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  try {
    const ledger = await openLedger(url, systemPorts, { retentionMs, acceptClock, migrate: false });
    try {
      await saveAudit(ledger, scope, summaryOf(statement));
    } finally {
      await ledger.close();
    }
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    onWarning?.(`the ledger did not store the result of the audit: ${error.message}`); // O1
  }
}
