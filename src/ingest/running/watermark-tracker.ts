// Watermark tracker: the pipeline's watermark, saved across restarts. policy/watermark.ts has the
// transitions.
//   W1. A start restores the saved watermark, so a restart never moves it back. It is saved every
//       few seconds. A crash may lose those: then a late record may be treated as live, but a live
//       record is never treated as late.
//   W2. Observations are applied at short intervals. A decision uses the watermark as of the last
//       interval.

import { type DurationMs, durationMs, type EpochMs, minutes, msBetween } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  type EventTimeObservation,
  isBelievable,
  type LaneDecision,
  laneFor,
  observeAll,
  startWatermark,
} from "../policy/watermark.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";

const OBSERVATIONS_MAX = 1_000;
const INTERVAL_MS: DurationMs = durationMs(100);
const LOG_INTERVAL_MS: DurationMs = minutes(1);

export interface WatermarkTracker {
  restore(): Promise<void>;
  /** Observes the record's event time and returns its lane. */
  decide(record: WorkRecord, inFlight: InFlightDelivery): LaneDecision;
  value(): EpochMs | null;
  save(): Promise<void>;
}

export function createWatermarkTracker(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly telemetry: Telemetry },
  options: { readonly pipeline: Pipeline; readonly scope: LedgerScope },
): WatermarkTracker {
  const { clock, ledger, telemetry } = ports;
  const { pipeline, scope } = options;
  const stream = pipeline.name;
  let state = startWatermark(pipeline.allowedLatenessMs);
  let saved: EpochMs | null = null;
  let waiting: EventTimeObservation[] = [];
  let appliedAt = clock.now();
  const reportFuture = createFutureReporter(ports, stream);

  function applyWaiting(): void {
    if (waiting.length > 0) state = observeAll(state, waiting);
    waiting = [];
    appliedAt = clock.now();
  }

  return {
    async restore() {
      const note = await ledger.findNote(scope, "watermark", stream);
      saved = note?.at ?? null;
      state = startWatermark(pipeline.allowedLatenessMs, saved); // W1
    },
    decide({ eventTime, object, identity }, { delivery }) {
      const now = clock.now();
      const decision = laneFor(null, state.watermark, eventTime);
      if (decision.lane === "late") telemetry.count(METRICS.late.name, 1, { stream });
      if (!isBelievable(eventTime, now)) reportFuture(msBetween(now, eventTime), identity);
      const partition = delivery.groupId ?? object?.bucket ?? "";
      waiting.push({ partition, eventTime, now });
      const due = waiting.length >= OBSERVATIONS_MAX || msBetween(appliedAt, now) >= INTERVAL_MS;
      if (due) applyWaiting(); // W2
      return decision;
    },
    value() {
      applyWaiting();
      return state.watermark;
    },
    async save() {
      applyWaiting();
      const at = state.watermark;
      if (at === null || at === saved || at < 0) return;
      telemetry.gauge(METRICS.watermark.name, at / 1_000, { stream });
      const note = { kind: "watermark", name: stream, at, count: 0, body: "" } as const;
      try {
        await ledger.addNotes(scope, [note]);
        saved = at;
      } catch {
        // The next save will do; stages that need the ledger now report that it is down.
      }
    },
  };
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
