// Watermark tracker: the watermark of a pipeline, shared by all processes through the ledger.
// policy/watermark.ts has the transitions, partition-report.ts the notes.
//   W1. A decision uses only a watermark that the ledger has stored. So neither a crash nor a
//       restart of any process takes a decision's watermark back.
//   W2. A sync joins the reports of all processes with this one's and stores report and watermark
//       in one call. The note of the watermark keeps the highest instant.
//   W3. A process that crashed leaves its report behind. After DEAD_MS another process takes its
//       partitions over, stores them, and only then removes the report. A process that was merely
//       frozen writes its report again.
//   W4. A sync without news writes nothing. While a partition is active, a report is at most
//       HEARTBEAT_MS old, so that others know whether the queue is drained (M3 of watermark.ts).
//   W5. A report has the messages that this process holds and the records that it returned for a
//       retry, so that `completeUpTo` knows what hides in SQS. A takeover inherits the latter. To
//       forget those that another process settled, a sync asks the ledger for the oldest ones: at
//       most LOOKUPS_MAX at once, and once per HEARTBEAT_MS if the oldest is not settled.
//   W6. A ledger that is down delays the watermark; it never fails a record here.

import {
  addMs,
  type DurationMs,
  type EpochMs,
  epochMs,
  minutes,
  msBetween,
  seconds,
} from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, NoteInput } from "../../ports/ledger.ts";
import type { LaneDecision, LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  advance,
  type EventTimeObservation,
  hasActive,
  heldBy,
  isBelievable,
  joinReports,
  keepActive,
  laneFor,
  OTHER_PARTITIONS,
  observeAll,
  PARTITIONS_MAX,
  polled,
  startWatermark,
  takeOver,
} from "../policy/watermark.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { TimedRecord } from "../stages/event-time.ts";
import type { RecordOutcome } from "../stages/outcome.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";
import { type ProcessReport, readReports, reportNote } from "./partition-report.ts";
import { earliest, ReturnedRecords } from "./returned-records.ts";
import { isSettled } from "./settled-record.ts";
import { createHolderGauge } from "./watermark-gauges.ts";

/** How often news is stored. */
export const SYNC_MS: DurationMs = seconds(1);
/** W4 */
const HEARTBEAT_MS: DurationMs = seconds(30);
/** How old the report of a process that is gone has to be (W3). */
const DEAD_MS: DurationMs = minutes(10);
const LOG_INTERVAL_MS: DurationMs = minutes(1);
/** W5 */
const LOOKUPS_MAX = 20;

/** How a receive ended. "full": with as many messages as it asked for. "empty": with none. */
export type Polled = "empty" | "drained" | "full" | "failed";

export interface WatermarkTracker {
  restore(): Promise<void>;
  /** The lane of a record by the stored watermark (W1). */
  decide(eventTime: EpochMs): LaneDecision;
  /** A record is in flight. */
  begin(timed: TimedRecord, inFlight: InFlightDelivery): void;
  /** The record was claimed, so its event time counts. */
  observe(timed: TimedRecord): void;
  /** An attempt uses that decision; the first attempt counts late records. */
  decided({ lane }: LaneDecision, attempt: number): void;
  /** The record is no longer in flight. */
  end(timed: TimedRecord, outcome: RecordOutcome, inFlight: InFlightDelivery): void;
  /**
   * A receive ended. Only the pipeline's own queue shows whether its partitions are idle, not its
   * late queue.
   */
  polled(how: Polled, queue: "own" | "late"): void;
  /** This process holds that many messages, begun or not (W5). */
  holds(deliveries: number): void;
  /** The stored watermark. */
  value(): EpochMs | null;
  /** Stores what is new, and reads what others stored (W2, W4). */
  sync(): Promise<void>;
}

export interface WatermarkPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly telemetry: Telemetry;
}

export interface WatermarkOptions {
  readonly pipeline: Pipeline;
  readonly scope: LedgerScope;
  readonly owner: string;
}

export function createWatermarkTracker(
  ports: WatermarkPorts,
  options: WatermarkOptions,
): WatermarkTracker {
  return new SharedWatermark(ports, options);
}

class SharedWatermark implements WatermarkTracker {
  readonly #ports: WatermarkPorts;
  readonly #options: WatermarkOptions;
  readonly #reportFuture: (aheadMs: number, identity: string) => void;
  readonly #showHolder: (partition: string | null) => void;
  /** What this process observed; its watermark is the stored one. */
  #own: ReturnType<typeof startWatermark>;
  /** The newest observation of each partition since the last sync. */
  #waiting = new Map<string, EventTimeObservation>();
  /** Partitions in retry, and until when. */
  readonly #activeUntil = new Map<string, EpochMs>();
  readonly #inFlight = new Set<TimedRecord["record"]>();
  readonly #returned = new ReturnedRecords();
  #deliveries = 0;
  #queueLagMs = 0;
  #polledAt: EpochMs | null = null;
  /** When the ledger last said that the oldest returned record is not settled. */
  #unsettledAt: EpochMs | null = null;
  #news = false;
  #savedAt: EpochMs | null = null;
  #syncing: Promise<void> | null = null;

  constructor(ports: WatermarkPorts, options: WatermarkOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#own = startWatermark(options.pipeline.eventTime.outOfOrderMs);
    this.#reportFuture = createFutureReporter(ports, options.pipeline.name);
    this.#showHolder = createHolderGauge(ports.telemetry, options.pipeline.name);
  }

  async restore(): Promise<void> {
    const { pipeline, scope } = this.#options;
    const note = await this.#ports.ledger.findNote(scope, "watermark", pipeline.name);
    this.#own = startWatermark(pipeline.eventTime.outOfOrderMs, note?.at ?? null); // W1
  }

  decide(eventTime: EpochMs): LaneDecision {
    return laneFor(
      null,
      this.#own.watermark,
      eventTime,
      this.#options.pipeline.eventTime.allowedLatenessMs,
    );
  }

  begin(timed: TimedRecord, { delivery, receivedAt }: InFlightDelivery): void {
    this.#inFlight.add(timed.record);
    const isFirst = delivery.receiveCount === 1;
    const waitedMs = isFirst ? msBetween(delivery.sentAt, receivedAt) : 0;
    this.#returned.begun(timed.record.key, { grouped: delivery.groupId !== null, waitedMs });
    this.#queueLagMs = Math.max(this.#queueLagMs, waitedMs);
  }

  observe({ record, failure }: TimedRecord): void {
    if (failure !== null || record.content.kind === "unusable") return; // It has no event time.
    const now = this.#ports.clock.now();
    const { eventTime, partition } = record;
    if (!isBelievable(eventTime, now) && eventTime > now) {
      this.#reportFuture(msBetween(now, eventTime), record.identity);
    }
    const previous = this.#waiting.get(partition);
    const isNewer = previous === undefined || eventTime >= previous.eventTime;
    // An unbelievable time must not hide a believable one of the same interval.
    if (isNewer && isBelievable(eventTime, now)) {
      this.#waiting.set(partition, { partition, eventTime, now });
    } else if (previous !== undefined) this.#waiting.set(partition, { ...previous, now });
    this.#news = true;
  }

  decided({ lane }: LaneDecision, attempt: number): void {
    if (lane === "live" || attempt > 1) return;
    const labels = { stream: this.#options.pipeline.name, lane };
    this.#ports.telemetry.count(METRICS.late.name, 1, labels);
  }

  end({ record }: TimedRecord, outcome: RecordOutcome, { delivery }: InFlightDelivery): void {
    const { partition, eventTime, object } = record;
    const { messageId } = delivery;
    this.#inFlight.delete(record);
    if (outcome.kind === "done") return;
    const { visibilityMs } = this.#options.pipeline;
    const awayMs = outcome.kind === "later" ? outcome.delayMs : visibilityMs;
    const until = addMs(this.#ports.clock.now(), awayMs);
    this.#returned.add(record.key, { messageId, eventTime, until, object }); // W5
    const isFull = this.#activeUntil.size >= PARTITIONS_MAX && !this.#activeUntil.has(partition);
    const name = isFull ? OTHER_PARTITIONS : partition; // M7 of watermark.ts
    const previous = this.#activeUntil.get(name);
    if (previous === undefined || previous < until) this.#activeUntil.set(name, until);
    this.#news = true;
  }

  polled(how: Polled, queue: "own" | "late"): void {
    const now = this.#ports.clock.now();
    if (how === "empty") this.#returned.emptied(now);
    if (queue === "late") return;
    const before = this.#own.drainedSince;
    this.#own = polled(this.#own, { now, drained: how === "drained" || how === "empty" });
    if (how !== "failed") this.#polledAt = now;
    if ((before === null) !== (this.#own.drainedSince === null)) this.#news = true;
  }

  holds(deliveries: number): void {
    this.#deliveries = deliveries;
  }

  value(): EpochMs | null {
    return this.#own.watermark;
  }

  sync(): Promise<void> {
    this.#syncing ??= this.#syncOnce().finally(() => {
      this.#syncing = null;
    });
    return this.#syncing;
  }

  async #syncOnce(): Promise<void> {
    const now = this.#ports.clock.now();
    if (this.#returned.forget(now)) this.#news = true;
    await this.#forgetSettled(now);
    const isDue = this.#savedAt === null || msBetween(this.#savedAt, now) >= HEARTBEAT_MS;
    if (!this.#news && !(isDue && hasActive(this.#own, now))) return; // W4
    this.#apply(now);
    try {
      await this.#store(now);
    } catch {
      this.#news = true; // The next sync will do (W6).
    }
  }

  /** Forgets returned records that are settled by now, oldest first (W5). */
  async #forgetSettled(now: EpochMs): Promise<void> {
    const waitedMs = this.#unsettledAt === null ? null : msBetween(this.#unsettledAt, now);
    if (waitedMs !== null && waitedMs >= 0 && waitedMs < HEARTBEAT_MS) return;
    const { ledger } = this.#ports;
    const { scope } = this.#options;
    for (const entry of this.#returned.oldest(LOOKUPS_MAX)) {
      const settled = await isSettled(ledger, scope, entry, now).catch(() => false); // W6
      this.#unsettledAt = settled ? null : now;
      if (!settled) return;
      this.#returned.settled(...entry);
      this.#news = true;
    }
  }

  /** Moves what happened since the last sync into the own state. */
  #apply(now: EpochMs): void {
    this.#news = false;
    const { watermark } = this.#own;
    // Only a stored watermark may decide (W1), so the one that follows from this is dropped.
    const observed = { ...observeAll(this.#own, [...this.#waiting.values()]), watermark };
    this.#waiting = new Map();
    const active = new Map(this.#activeUntil);
    const redeliveredAt = addMs(now, this.#options.pipeline.visibilityMs);
    for (const { partition } of this.#inFlight) active.set(partition, redeliveredAt);
    for (const [name, until] of this.#activeUntil) if (until <= now) this.#activeUntil.delete(name);
    this.#own = keepActive(observed, active);
  }

  async #store(now: EpochMs): Promise<void> {
    const { ledger } = this.#ports;
    const { scope, owner, pipeline } = this.#options;
    const stored = await ledger.findNote(scope, "watermark", pipeline.name);
    const all = await readReports(ledger, scope);
    const others = all.filter((report) => report.owner !== owner);
    const gone = others.filter(({ savedAt }) => msBetween(savedAt, now) >= DEAD_MS);
    this.#own = takeOver(this.#own, gone); // W3
    this.#inherit(gone); // W5
    const own = this.#report(now);
    const joined = joinReports(this.#withStored(stored?.at ?? null), [own, ...others], now);
    const next = advance(joined, now);
    const notes: NoteInput[] = [reportNote(own)];
    if (next.watermark !== null && next.watermark >= 0 && next.watermark !== stored?.at) {
      notes.push(watermarkNote(pipeline.name, next.watermark));
    }
    await ledger.addNotes(scope, notes); // W2
    this.#savedAt = own.savedAt;
    this.#queueLagMs = 0;
    this.#own = { ...this.#own, watermark: next.watermark }; // W1
    if (gone.length > 0) {
      const names = gone.map((report) => report.owner);
      await ledger.removeNotes(scope, "partitions", names); // W3
    }
    this.#show(heldBy(next, now));
  }

  /** What processes that are gone had in flight or in retry (W5). */
  #inherit(gone: readonly ProcessReport[]): void {
    const { visibilityMs } = this.#options.pipeline;
    for (const { owner, savedAt, oldestInFlight, returned } of gone) {
      const oldest = earliest(oldestInFlight, returned.oldest);
      if (oldest === null) continue;
      const redeliveredAt = addMs(savedAt, visibilityMs);
      const until = epochMs(Math.max(redeliveredAt, returned.until ?? 0));
      this.#returned.inherit(owner, { messages: returned.messages, oldest, until });
    }
  }

  /** The own state with the higher of the two watermarks. */
  #withStored(stored: EpochMs | null) {
    const { watermark } = this.#own;
    const highest = stored === null || (watermark !== null && watermark > stored);
    return { ...this.#own, watermark: highest ? watermark : stored };
  }

  #report(now: EpochMs): ProcessReport {
    const { partitions, drainedSince } = this.#own;
    let oldestInFlight: EpochMs | null = null;
    for (const { eventTime } of this.#inFlight) {
      if (oldestInFlight === null || eventTime < oldestInFlight) oldestInFlight = eventTime;
    }
    // A clock that was set back must not write an older note, which the ledger would ignore.
    const savedAt = this.#savedAt === null ? now : epochMs(Math.max(now, this.#savedAt));
    const { owner } = this.#options;
    const queueLagMs = Math.max(0, this.#queueLagMs);
    return {
      owner,
      savedAt,
      partitions,
      drainedSince,
      polledAt: this.#polledAt,
      oldestInFlight,
      queueLagMs,
      deliveries: this.#deliveries,
      returned: this.#returned.report(now),
    };
  }

  #show(holder: string | null): void {
    const { watermark } = this.#own;
    const labels = { stream: this.#options.pipeline.name };
    this.#showHolder(holder);
    if (watermark === null) return;
    this.#ports.telemetry.gauge(METRICS.watermark.name, watermark / 1_000, labels);
  }
}

function watermarkNote(name: string, at: EpochMs): NoteInput {
  return { kind: "watermark", name, at, count: 0, body: "" };
}

/** A wrong clock is wrong for every record: all are counted, one per interval is logged. */
function createFutureReporter(
  ports: { readonly clock: Clock; readonly telemetry: Telemetry },
  stream: string,
): (aheadMs: number, identity: string) => void {
  const { clock, telemetry } = ports;
  let loggedAt: EpochMs | null = null;
  return (aheadMs, identity) => {
    telemetry.count(METRICS.future.name, 1, { stream });
    const now = clock.now();
    if (loggedAt !== null && msBetween(loggedAt, now) < LOG_INTERVAL_MS) return;
    loggedAt = now;
    const message = "an event time is ahead of our clock and does not move the watermark";
    telemetry.log("warn", message, { idempotency_key: identity, ahead_ms: aheadMs });
  };
}
