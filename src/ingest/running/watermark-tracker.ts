// Watermark tracker: the pipeline's event time, kept across restarts (policy/watermark.ts has the
// law).
//   W1. What was kept comes back, so that the watermark never goes back by a restart. It is kept
//       every few seconds: a crash may lose those, which makes a record live that was late, and
//       never the other way round.
//   W2. Observations are taken in at short intervals; a decision is made by the watermark as it was
//       at the last of them.

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
const TELL_AGAIN_MS: DurationMs = minutes(1);

export interface WatermarkTracker {
  restore(): Promise<void>;
  /** Takes note of the record's time and says which lane it belongs to. */
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
  let takenInAt = clock.now();
  const tellFuture = createFutureTeller(ports, stream);

  function takeIn(): void {
    if (waiting.length > 0) state = observeAll(state, waiting);
    waiting = [];
    takenInAt = clock.now();
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
      if (!isBelievable(eventTime, now)) tellFuture(msBetween(now, eventTime), identity);
      const partition = delivery.groupId ?? object?.bucket ?? "";
      waiting.push({ partition, eventTime, now });
      const due = waiting.length >= OBSERVATIONS_MAX || msBetween(takenInAt, now) >= INTERVAL_MS;
      if (due) takeIn(); // W2
      return decision;
    },
    value() {
      takeIn();
      return state.watermark;
    },
    async save() {
      takeIn();
      const at = state.watermark;
      if (at === null || at === saved || at < 0) return;
      telemetry.gauge(METRICS.watermark.name, at / 1_000, { stream });
      const note = { kind: "watermark", name: stream, at, count: 0, body: "" } as const;
      try {
        await ledger.addNotes(scope, [note]);
        saved = at;
      } catch {
        // The next one is as good; a ledger that is down is told of by those who need it now.
      }
    },
  };
}

/** A clock that is wrong is wrong for every record: all are counted, one in a while is told. */
function createFutureTeller(
  ports: { readonly clock: Clock; readonly telemetry: Telemetry },
  stream: string,
): (aheadMs: number, identity: string) => void {
  const { clock, telemetry } = ports;
  let toldAt: EpochMs | null = null;
  return (aheadMs, identity) => {
    telemetry.count(METRICS.future.name, 1, { stream });
    const now = clock.now();
    if (toldAt !== null && msBetween(toldAt, now) < TELL_AGAIN_MS) return;
    toldAt = now;
    const message = "an event time lies ahead of our clock and does not move the watermark";
    telemetry.log("warn", message, { idempotency_key: identity, ahead_ms: aheadMs });
  };
}
