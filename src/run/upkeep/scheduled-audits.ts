// Scheduled audits: while a pipeline runs, compares bucket, ledger and sink of the latest hours,
// and reports the result as metrics.
//   S1. One process of a pipeline audits at a time, as far as the ledger shows: a process skips its
//       turn if another one has stored an audit of the same keys and window within half of the
//       interval.
//   S2. An audit that fails is logged and counted; the next one tries again. It delays no record.
//   S3. Metrics have the latest result, also if another process found it.

import { AUDIT_STATUSES } from "../../audit/audit-line.ts";
import { listAudits, saveAudit } from "../../audit/audit-log.ts";
import { auditSources, summaryOf } from "../../audit/audit-sources.ts";
import { readQueue } from "../../audit/read-queue.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { type DurationMs, type EpochMs, minutes, msBetween, subtractMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import { systemPorts } from "../../platform/index.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { openAwsLister } from "../open/aws-environment.ts";
import { closeAll } from "../open/close-all.ts";
import type { Environment } from "../open/environment.ts";
import type { Server } from "../open/find-server.ts";
import { openEffects } from "../open/open-effects.ts";
import type { ReadySettings } from "../prepare-run.ts";

/** Processes that start together must not all find the same old audit. */
const OVERLAP = 2;
/** Audits among which that of another process is looked for; people may have run others since. */
const LATEST_MAX = 20;

export interface ScheduledAudits {
  /** Resolves when the audit in progress has ended. */
  close(): Promise<void>;
}

export interface ScheduledAuditPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly telemetry: Telemetry;
  /** Audits objects that were modified since then. */
  readonly runAudit: (from: EpochMs, signal: AbortSignal) => Promise<AuditSummary>;
}

export interface AuditedPipeline extends Pick<Pipeline, "name" | "generation"> {
  readonly source: Pick<Pipeline["source"], "bucket" | "prefix">;
}

export interface AuditTerms {
  readonly everyMs: DurationMs;
  readonly windowMs: DurationMs;
  /** The suffix of the bucket's notification. Default: none. */
  readonly suffix?: string | undefined;
}

export function startAudits(
  ports: ScheduledAuditPorts,
  { name, generation, source }: AuditedPipeline,
  { everyMs, windowMs, suffix: wanted = "" }: AuditTerms,
): ScheduledAudits {
  const { clock, ledger, telemetry } = ports;
  const scope = { pipeline: name, generation };
  const closing = new AbortController();

  async function round(): Promise<void> {
    const now = clock.now();
    const latest = await listAudits(ledger, scope, LATEST_MAX);
    const other = latest.find((audit) => isSame(audit, now));
    if (other !== undefined) return report(other); // S1, S3
    const summary = await ports.runAudit(subtractMs(now, windowMs), closing.signal);
    await saveAudit(ledger, scope, summary);
    report(summary);
    const { verdict, counts, digest } = summary;
    const level = verdict === "complete" || verdict === "accounted" ? "info" : "warn";
    telemetry.log(level, `audit: ${verdict}`, { verdict, digest, ...counts });
  }

  /** Whether an audit covers what this one would; an audit of a part says less (S1). */
  function isSame(audit: AuditSummary, now: EpochMs): boolean {
    const { bucket, prefix, suffix = "", from, to } = audit;
    if (bucket !== source.bucket || prefix !== source.prefix || suffix !== wanted) return false;
    if (from !== null && msBetween(from, to) < windowMs) return false;
    return msBetween(to, now) < everyMs / OVERLAP;
  }

  function report({ counts, endedAt }: AuditSummary): void {
    const { auditObjects, auditEnded } = CONSUMER_METRICS;
    for (const status of AUDIT_STATUSES) {
      telemetry.gauge(auditObjects.name, counts[status], { pipeline: name, status });
    }
    telemetry.gauge(auditEnded.name, endedAt / 1_000, { pipeline: name });
  }

  async function run(): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, closing.signal);
      await round().catch((error: unknown) => {
        if (closing.signal.aborted) return;
        telemetry.count(CONSUMER_METRICS.auditsFailed.name, 1, { pipeline: name });
        telemetry.log("warn", `audit failed, trying again later: ${reasonOf(error)}`); // S2
      });
    }
  }

  const running = run().catch((error: unknown) => {
    if (!closing.signal.aborted) throw error;
  });
  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}

/** Null if the settings ask for none. */
export function startScheduledAudits(
  pipeline: Pipeline,
  settings: ReadySettings,
  ports: {
    readonly ledger: Ledger;
    readonly telemetry: Telemetry;
    readonly server: Server;
    readonly looks?: Environment["looks"];
  },
): ScheduledAudits | null {
  const terms = auditTerms(settings);
  if (terms === null) return null;
  if (pipeline.source.contents !== "objects" || pipeline.source.bucket === null) {
    const message = "auditMinutes needs a pipeline that names its bucket; set source.bucket";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const { ledger, telemetry, server } = ports;
  const { suffix } = terms;
  return startAudits(
    {
      clock: systemPorts.clock,
      ledger,
      telemetry,
      async runAudit(from, signal) {
        const listing = await openAwsLister(server);
        const closers: (() => unknown)[] = [listing.close];
        try {
          const { effects, rows, what, close } = await openEffects(pipeline, ledger);
          closers.push(close);
          const looks = (await ports.looks?.()) ?? [];
          const sources = {
            ...systemPorts,
            ledger,
            lister: listing.lister,
            effects,
            rows,
            sink: { checked: effects.length > 0, what },
            readQueue: () => readQueue(looks, pipeline, ledger, systemPorts.clock.now()),
          };
          return summaryOf(await auditSources(pipeline, sources, { from, suffix, signal }));
        } finally {
          await closeAll(closers);
        }
      },
    },
    pipeline,
    terms,
  );
}

/** Of settings in minutes. */
export function auditTerms(settings: {
  readonly auditMinutes?: number | undefined;
  readonly auditHours?: number | undefined;
  readonly auditSuffix?: string | undefined;
}): AuditTerms | null {
  const { auditMinutes = 0, auditHours = HOURS_DEFAULT, auditSuffix: suffix } = settings;
  if (auditMinutes === 0) return null;
  const windowMs = minutes(auditHours * MINUTES_PER_HOUR);
  return { everyMs: minutes(auditMinutes), windowMs, suffix };
}

const HOURS_DEFAULT = 24;
const MINUTES_PER_HOUR = 60;
