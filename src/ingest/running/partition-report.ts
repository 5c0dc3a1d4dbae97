// Partition report: what one process knows of event time, as a note that other processes read.
//   R1. A note is named after its process and replaces its predecessor. It fits NOTE_CHARS_MAX with
//       PARTITIONS_MAX partitions of PARTITION_CHARS_MAX characters.
//   R2. A report that cannot be read, for example one of another version, is ignored.

import { durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, Note, NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import {
  heldBy,
  joinReports,
  type Partition,
  type PartitionReport,
  startWatermark,
} from "../policy/watermark.ts";
import type { ReturnedReport } from "./returned-records.ts";

/** A report with what `completeUpTo` needs of a process. */
export interface ProcessReport extends PartitionReport {
  readonly owner: string;
  readonly savedAt: EpochMs;
  /** The oldest event time of a record in flight; null without one. */
  readonly oldestInFlight: EpochMs | null;
  /** The longest that a message received lately had waited in the queue. */
  readonly queueLagMs: number;
  /** Messages that are hidden because this process received them and has not settled them. */
  readonly deliveries: number;
  readonly returned: ReturnedReport;
}

const VERSION = 2;

type Row = readonly [name: string, latest: number, activeUntil: number];

interface ReportBody {
  readonly v: number;
  readonly polledAt: number | null;
  readonly drainedSince: number | null;
  readonly oldest: number | null;
  readonly lagMs: number;
  readonly deliveries: number;
  readonly returned: readonly [messages: number, oldest: number | null, until: number | null];
  readonly partitions: readonly Row[];
}

/** The note of a report (R1). */
export function reportNote(report: ProcessReport): NoteInput {
  const { owner: name, savedAt: at, polledAt, drainedSince, partitions } = report;
  const { oldestInFlight: oldest, queueLagMs: lagMs, deliveries } = report;
  const { messages, oldest: oldestReturned, until } = report.returned;
  const rows = [...partitions].map(
    ([partition, { latest, activeUntil }]): Row => [partition, latest, activeUntil],
  );
  const body: ReportBody = {
    v: VERSION,
    polledAt,
    drainedSince,
    oldest,
    lagMs,
    deliveries,
    returned: [messages, oldestReturned, until],
    partitions: rows,
  };
  return { kind: "partitions", name, at, count: 1, body: JSON.stringify(body) };
}

/** The reports of all processes that share the scope. */
export async function readReports(ledger: Ledger, scope: LedgerScope): Promise<ProcessReport[]> {
  const reports: ProcessReport[] = [];
  for await (const note of everyNote(ledger, scope, "partitions")) {
    const report = reportIn(note);
    if (report !== null) reports.push(report);
  }
  return reports;
}

/** The partition that holds the watermark of a scope back now; null if all are idle. */
export async function watermarkHolder(
  { clock }: { readonly clock: Clock },
  ledger: Ledger,
  scope: LedgerScope,
): Promise<string | null> {
  const now = clock.now();
  const reports = await readReports(ledger, scope);
  return heldBy(joinReports(startWatermark(durationMs(0)), reports, now), now);
}

function reportIn({ name: owner, at: savedAt, body }: Note): ProcessReport | null {
  try {
    const { v, polledAt, drainedSince, oldest, ...rest } = JSON.parse(body) as ReportBody;
    if (v !== VERSION) return null; // R2
    const { lagMs, deliveries, partitions } = rest;
    const [messages, oldestReturned, until] = rest.returned;
    const entries = partitions.map(([name, latest, activeUntil]): [string, Partition] => [
      name,
      { latest: epochMs(latest), activeUntil: epochMs(activeUntil) },
    ]);
    return {
      owner,
      savedAt,
      polledAt: instantOf(polledAt),
      drainedSince: instantOf(drainedSince),
      oldestInFlight: instantOf(oldest),
      queueLagMs: lagMs,
      deliveries,
      returned: { messages, oldest: instantOf(oldestReturned), until: instantOf(until) },
      partitions: new Map(entries),
    };
  } catch {
    return null; // R2
  }
}

function instantOf(at: number | null): EpochMs | null {
  return at === null ? null : epochMs(at);
}
