// Time page: watermarks, completeness, held records and hours of a pipeline.
//   T1. Counts are bounded: an hour counts HOUR_RECORDS_MAX records at most and says so.
//   T2. It reads much, so a refresher computes it in the background (L2 of ledger-pages.ts).

import { TidegateError } from "../../core/errors.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import type { Completeness, Holder } from "../../ingest/late/complete-up-to.ts";
import { heldOf } from "../../ingest/late/held-note.ts";
import { heldBy, IDLE_MS, joinReports, startWatermark } from "../../ingest/policy/watermark.ts";
import { readReports } from "../../ingest/running/partition-report.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const HOUR_RECORDS_MAX = 500;
const HELD_SHOWN_MAX = 100;
const HELD_COUNTED_MAX = 1_000;
const PARTITIONS_SHOWN_MAX = 1_000;

export interface HeldView {
  readonly key: string;
  readonly name: string;
  readonly eventTime: number;
  readonly heldAt: number;
  readonly lateQueue: string | null;
}

export interface TimeOptions {
  readonly ledger: Ledger;
  readonly now: number;
  readonly completeness: Completeness;
  /** Whether queued messages were looked at. */
  readonly looked: boolean;
}

export type TimeView = Awaited<ReturnType<typeof readTime>>;

export async function readTime(scope: LedgerScope, options: TimeOptions) {
  const { ledger, now, completeness, looked } = options;
  const { at, watermark } = completeness;
  const { partitions, holder } = await partitionsOf(ledger, scope, now);
  return {
    at: now,
    pipeline: scope.pipeline,
    generation: scope.generation,
    watermark,
    completeUpTo: at,
    heldBy: holderClause(completeness.heldBy, holder),
    looked,
    partitions,
    held: await readHeld(ledger, scope),
    windows: await windowsOf(scope, options),
  };
}

/** What holds completeness back, in one clause; null if nothing does. */
export function holderClause(holder: Holder | null, partition: string | null): string | null {
  if (holder === null) return null;
  if (holder.kind === "watermark") {
    return partition === null ? null : `the partition ${partition} has not moved on`;
  }
  const { kind, what, eventTime } = holder;
  const time = eventTime === null ? "" : `, event time ${new Date(eventTime).toISOString()}`;
  return `${kind}: ${what}${time}`;
}

async function partitionsOf(ledger: Ledger, scope: LedgerScope, now: number) {
  const instant = epochMs(now);
  const reports = await readReports(ledger, scope);
  const state = joinReports(startWatermark(durationMs(0)), reports, instant);
  const holder = heldBy(state, instant);
  const rows = [...state.partitions].map(([name, { latest, activeUntil }]) => {
    const idle = holder !== name && now - activeUntil >= IDLE_MS;
    return { name, eventTime: latest, seenAt: activeUntil, idle, holds: holder === name };
  });
  rows.sort((a, b) => a.eventTime - b.eventTime);
  return { partitions: rows.slice(0, PARTITIONS_SHOWN_MAX), holder };
}

async function readHeld(ledger: Ledger, scope: LedgerScope) {
  const items: HeldView[] = [];
  let count = 0;
  for await (const { held } of heldOf(ledger, scope)) {
    if (held.released_at !== null || (held.to !== null && held.sent_at !== null)) continue;
    if (count === HELD_COUNTED_MAX) return { count, more: true, items }; // T1
    count += 1;
    if (items.length === HELD_SHOWN_MAX) continue;
    const { record_key: key, about, event_time: eventTime, held_at: heldAt, to } = held;
    items.push({ key, name: about ?? key, eventTime, heldAt, lateQueue: to });
  }
  return { count, more: false, items };
}

/** The last hours of event time, up to the one after the watermark. */
async function windowsOf(scope: LedgerScope, options: TimeOptions) {
  const { ledger, now, completeness } = options;
  const last = Math.floor((completeness.watermark ?? now) / HOUR_MS) * HOUR_MS;
  const windows: Awaited<ReturnType<typeof windowOf>>[] = [];
  for (let hour = HOURS - 1; hour >= 0; hour -= 1) {
    const from = last - hour * HOUR_MS;
    try {
      windows.push(await windowOf(ledger, scope, from, completeness));
    } catch (error) {
      if (error instanceof TidegateError && error.code === "TG_LISTING_OFF") return [];
      throw error;
    }
  }
  return windows;
}

async function windowOf(
  ledger: Ledger,
  scope: LedgerScope,
  from: number,
  { at, watermark }: Completeness,
) {
  const to = from + HOUR_MS;
  const query = { by: "event-time", from: epochMs(from), to: epochMs(to) } as const;
  const { records, next } = await ledger.listRecords(scope, query, {
    after: null,
    limit: HOUR_RECORDS_MAX,
  });
  const parked = records.filter(({ record }) => record.kind === "parked");
  const held = parked.filter(({ input }) => input.lane.lane === "too-late").length;
  const deadLettered = parked.length - held;
  const late = records.filter(({ input }) => input.lane.lane !== "live").length;
  const status = () => {
    if (parked.length > 0) return "problem";
    if (at !== null && to <= at) return "complete";
    return watermark !== null && from > watermark ? "future" : "open";
  };
  const counts = { records: records.length, recordsMore: next !== null, deadLettered, late, held };
  return { from, to, status: status(), ...counts };
}
