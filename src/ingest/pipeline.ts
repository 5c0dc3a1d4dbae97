// Pipeline: the path of one delivery through the stages.
//
//   receive  ->  decode   ->  claim  ->  handle   ->  commit  ->  settle
//   Delivery ->  Record[] ->  Claim  ->  Effects  ->  Commit  ->  Settlement
//                               |           |            |
//                               +-----------+------------+--->  fail
//
// Each stage has its own file in stages/. No stage calls another: this page calls them in order and
// switches on the union that each returns. The consumer (running/consumer.ts) runs receive before
// this page and settle after it.
//   P1. A delivery is acknowledged only after the outcomes of all its records are durable. A crash
//       between commit and settle causes a redelivery, which claim or commit answers with
//       "duplicate".
//   P2. Effects happen in the commit or not at all. Each record key is committed once, however
//       often the record is delivered and however many consumers process it.
//   P3. Every record ends with one of three outcomes: done, later or lost. No error of a handler,
//       a sink, a ledger or a queue leaves this page.
//   P4. Once a group has halted, its waiting records are skipped, not run: order within a FIFO
//       group matters more than progress.
//   P5. Renewal of a claim stops before commit or fail ends the claim in the ledger. A renewal that
//       arrived later would be refused and would look like a lost lease.
//   P6. If only the bucket knows the order of a record, it is asked before the handler runs. A
//       record that is not current is committed without effects. If the object changed since the
//       claim, the answer no longer counts: the claim is released, and the delivery returned.
//   P7. A message is governed before it is stored: by handle, or here if it is not handled because
//       it is late, its event time failed or its attempts are used up.

import { unreachable } from "../core/assert.ts";
import { parseTraceparent } from "../core/events/trace-context.ts";
import { noHash } from "../core/input-hash.ts";
import { type DurationMs, msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Confirmation, Fence } from "../ports/record.ts";
import { isHeldFailure } from "./late/held-note.ts";
import { busyDelayMs } from "./policy/retry.ts";
import type { DeliveryTrace, InFlightDelivery } from "./running/in-flight-delivery.ts";
import type { KeyedPool } from "./running/keyed-pool.ts";
import type { WatermarkTracker } from "./running/watermark-tracker.ts";
import type { Claim, ClaimOutcome, ClaimStage } from "./stages/claim.ts";
import type { CommitOutcome, CommitStage, Work } from "./stages/commit.ts";
import type { ConfirmStage } from "./stages/confirm.ts";
import type { DecodedDelivery, WorkRecord } from "./stages/decode.ts";
import type { EventTimes, TimedRecord } from "./stages/event-time.ts";
import type { FailStage, RecordFailure } from "./stages/fail.ts";
import { isWithheldRecord } from "./stages/govern.ts";
import type { Handled, HandleStage } from "./stages/handle.ts";
import type { LateStage } from "./stages/late.ts";
import {
  errorTypeOf,
  LEASE_LOST,
  NOT_RUN,
  type RecordOutcome,
  settlementOf,
} from "./stages/outcome.ts";
import type { Settlement } from "./stages/settle.ts";
import { spanEndOf } from "./telemetry/record-spans.ts";
import type { Tally } from "./telemetry/tally.ts";

/** Crashes while a record is governed whose attempts are used up; then it is stored as it is. */
const GOVERN_CRASHES_MAX = 5;

export interface Stages {
  readonly decode: (inFlight: InFlightDelivery) => DecodedDelivery;
  /** Names the group of the pool in which a record waits for its turn. */
  readonly groupOf: (record: WorkRecord, inFlight: InFlightDelivery) => string;
  /** Finds the event time and the partition of a record. */
  readonly times: EventTimes;
  readonly claim: ClaimStage;
  readonly confirm: ConfirmStage;
  readonly handle: HandleStage;
  readonly commit: CommitStage;
  readonly fail: FailStage;
  readonly watermark: WatermarkTracker;
  /** Holds records that are too late, or sends them elsewhere. */
  readonly late: LateStage;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a group halts at the first record that is not done (P4). */
  readonly halting: boolean;
  readonly attemptsMax: number;
  /** The longest lease of a claim: no record is busy for longer (Y5 of retry.ts). */
  readonly busyMsMax: DurationMs;
  /** Called once per outcome. */
  readonly onOutcome: (
    record: WorkRecord,
    outcome: RecordOutcome,
    inFlight: InFlightDelivery,
  ) => void;
}

/** Runs all records of a delivery and returns how to settle it. */
export function runDelivery(
  stages: Stages,
  pool: KeyedPool,
  inFlight: InFlightDelivery,
): Promise<Settlement> {
  const { records, ignored, trace } = stages.decode(inFlight);
  inFlight.trace = traceOf(trace, inFlight);
  stages.tally.decoded(inFlight, ignored);
  if (records.length === 0) return Promise.resolve(settlementOf([]));
  return new Promise((resolve) => {
    const outcomes: RecordOutcome[] = [];
    const finish = (record: WorkRecord, outcome: RecordOutcome) => {
      stages.tally.outcome(record, outcome, inFlight);
      stages.onOutcome(record, outcome, inFlight);
      outcomes.push(outcome);
      if (outcomes.length === records.length) resolve(settlementOf(outcomes)); // P1
    };
    for (const record of records) {
      pool.add(stages.groupOf(record, inFlight), {
        async run() {
          const span = stages.tally.begin(record, inFlight);
          const traced = span.context === null ? record : { ...record, span: span.context };
          const outcome = await runRecord(stages, traced, inFlight);
          inFlight.processed = span.context;
          const errorType = errorTypeOf(outcome);
          span.end(errorType === null ? {} : { errorType });
          finish(record, outcome);
          return stages.halting && outcome.kind !== "done" ? "halt" : "next";
        },
        skip: () => finish(record, NOT_RUN), // P4
      });
    }
  });
}

/** A message without a trace belongs to that of its receive, so that logs and spans agree. */
function traceOf(own: DeliveryTrace, { receive }: InFlightDelivery): DeliveryTrace {
  if (own.context !== null || own.traceId !== null || receive === null) return own;
  return { context: receive, traceId: parseTraceparent(receive.traceparent)?.traceId ?? null };
}

/** Where claim, handle and commit brought a record: to its outcome, or to the fail stage. */
type Progress = RecordOutcome | RecordFailure | HeldBefore;

/** The record is parked because it was too late. */
interface HeldBefore {
  readonly kind: "held";
  readonly fence: Fence;
}

/** Takes one record through claim, handle and commit, and through fail if one of them fails. */
async function runRecord(
  stages: Stages,
  record: WorkRecord,
  inFlight: InFlightDelivery,
): Promise<RecordOutcome> {
  if (!inFlight.alive()) return LEASE_LOST;
  const timing = stages.times.resolve(record, inFlight);
  const timed = timing instanceof Promise ? await timing : timing;
  stages.watermark.begin(timed, inFlight);
  const outcome = await runTimed(stages, timed, inFlight);
  stages.watermark.end(timed, outcome, inFlight);
  return outcome;
}

async function runTimed(
  stages: Stages,
  timed: TimedRecord,
  inFlight: InFlightDelivery,
): Promise<RecordOutcome> {
  const { record } = timed;
  const requestedAt = stages.clock.now();
  const span = stages.tally.child(record, "claim");
  const claimed = await stages.claim.claim(record, inFlight);
  span.end(spanEndOf(claimed));
  if (claimed.kind !== "unavailable") stages.tally.stage("claim", requestedAt);
  const progress =
    claimed.kind === "claimed"
      ? await runClaimed(stages, timed, claimed, inFlight)
      : afterRefusal(stages, claimed);
  let outcome: RecordOutcome;
  switch (progress.kind) {
    case "done":
    case "later":
    case "lost":
      outcome = progress;
      break;
    case "held":
      outcome = await againHeld(stages, record, progress.fence, inFlight);
      break;
    case "failed":
    case "exhausted":
    case "stopped":
    case "parked":
    case "unavailable":
      if (claimed.kind === "claimed") stages.claim.stopRenewal(record, claimed, inFlight); // P5
      outcome = await stages.fail.fail(record, progress, inFlight);
      break;
    default:
      return unreachable(progress);
  }
  if (claimed.kind === "claimed") {
    stages.claim.end(record, claimed, inFlight);
    if (progress.kind !== "exhausted") stages.tally.handled(claimed.startedAt, outcome);
  }
  return outcome;
}

/** A delivery of a held record; a ledger that does not answer returns it (P3). */
async function againHeld(
  stages: Stages,
  record: WorkRecord,
  fence: Fence,
  inFlight: InFlightDelivery,
): Promise<RecordOutcome> {
  try {
    return await stages.late.again(record, fence, inFlight);
  } catch (error) {
    return stages.fail.fail(record, { kind: "unavailable", error }, inFlight);
  }
}

/** Takes a claimed record through handle and commit. */
async function runClaimed(
  stages: Stages,
  timed: TimedRecord,
  claim: Claim,
  inFlight: InFlightDelivery,
): Promise<Progress> {
  const { clock, commit, late, tally, watermark } = stages;
  const { record, failure } = timed;
  try {
    const judging = refusalOf(stages, timed, claim, inFlight); // P7
    const refused = judging === null ? null : await judging;
    if (refused !== null) return refused;
    if (claim.attempt > stages.attemptsMax) return { kind: "exhausted", claim };
    watermark.observe(timed);
    if (failure !== null) {
      return { kind: "failed", stage: "handle", claim, error: failure.error, secrets: [] };
    }
    const { lane } = claim.input;
    watermark.decided(lane, claim.attempt);
    if (late.routes(lane) && !isWithheldRecord(record)) {
      const beforePark = () => stages.claim.stopRenewal(record, claim, inFlight); // P5
      const routed = await late.route(record, claim, inFlight, beforePark);
      if (routed !== null) return routed;
    }
    if (claim.confirm !== undefined && claim.confirmed === undefined) {
      return await runConfirmed(stages, timed, claim, inFlight); // P6
    }
    const handled = await handleCurrent(stages, record, claim, inFlight);
    tally.stage("handle", claim.startedAt);
    if (handled.kind !== "handled" && handled.kind !== "dropped")
      return afterHandle(handled, claim);
    const handledAt = clock.now();
    const span = tally.child(record, "commit");
    const prepared = await commit.prepare(record, claim, workOf(handled), inFlight);
    if (prepared.kind === "prepared") stages.claim.stopRenewal(record, claim, inFlight); // P5
    const committed =
      prepared.kind === "prepared" ? await commit.commit(prepared, claim, inFlight) : prepared;
    span.end(spanEndOf(committed));
    tally.stage("commit", handledAt);
    const progress = afterCommit(stages, committed, claim);
    if (committed.kind === "committed" && handled.kind === "handled") {
      const { badRows: bad } = handled;
      tally.committed(record, inFlight, { since: claim.startedAt, rows: rowsOf(handled), bad });
    }
    const wasDropped = handled.kind === "dropped" && claim.confirmed?.isCurrent !== false;
    return wasDropped && progress.kind === "done" ? { kind: "done", how: "dropped" } : progress;
  } catch (error) {
    return { kind: "unavailable", error }; // P3
  }
}

/** Asks the bucket about the order of a record, then continues with the answer (P6). */
async function runConfirmed(
  stages: Stages,
  timed: TimedRecord,
  claim: Claim,
  inFlight: InFlightDelivery,
): Promise<Progress> {
  let confirmed: Confirmation | null;
  try {
    confirmed = await stages.confirm(timed.record, claim, inFlight);
  } catch (error) {
    return afterHandle({ kind: "failed", by: "handler", error, secrets: [] }, claim);
  }
  const { confirm: _, ...plain } = claim;
  const next = confirmed === null ? plain : { ...claim, confirmed };
  return runClaimed(stages, timed, next, inFlight);
}

/** Runs the handler, unless the record is known not to be current (P6). */
function handleCurrent(
  stages: Stages,
  record: WorkRecord,
  claim: Claim,
  inFlight: InFlightDelivery,
): Promise<Handled> {
  if (claim.confirmed?.isCurrent !== false) {
    return stages.handle.handle(record, claim, claim.input.lane, inFlight);
  }
  const reason = "the bucket has a newer state";
  return Promise.resolve({ kind: "dropped", reason });
}

/** The refusal of a record that would be stored without being handled (P7); null without one. */
function refusalOf(
  stages: Stages,
  { record, failure }: TimedRecord,
  claim: Claim,
  inFlight: InFlightDelivery,
): Promise<Progress | null> | null {
  const { handle, late, attemptsMax } = stages;
  const isHandled =
    claim.attempt <= attemptsMax && failure === null && !late.routes(claim.input.lane);
  if (isHandled || claim.attempt > attemptsMax + GOVERN_CRASHES_MAX) return null;
  const judging = handle.govern(record, inFlight);
  return judging.then((refused) => (refused === null ? null : afterHandle(refused, claim)));
}

/** Effects of a record, in memory or staged. */
function rowsOf({ effects, stage }: Extract<Handled, { kind: "handled" }>): number {
  return [...(stage?.counts.values() ?? [])].reduce((sum, count) => sum + count, effects.length);
}

function workOf(handled: Extract<Handled, { kind: "handled" | "dropped" }>): Work {
  if (handled.kind === "dropped") {
    const none = { effects: [], stage: null, digest: null, badRows: [], secrets: [] };
    const input = noHash("not-read");
    return { ...none, input, masked: { kind: "withheld" } }; // F4 of archived-form.ts
  }
  const { kind: _, ...work } = handled;
  return work;
}

function afterHandle(
  handled: Exclude<Handled, { kind: "handled" | "dropped" }>,
  claim: Claim,
): Progress {
  switch (handled.kind) {
    case "failed": {
      const { by, ...failed } = handled;
      return { ...failed, stage: by === "store" ? "commit" : "handle", claim };
    }
    case "stopped":
      return { kind: "stopped", claim };
    case "lost":
      return LEASE_LOST;
    default:
      return unreachable(handled);
  }
}

function afterCommit(stages: Stages, committed: CommitOutcome, claim: Claim): Progress {
  switch (committed.kind) {
    case "committed":
    case "superseded":
      return { kind: "done", how: committed.kind };
    case "fenced":
    case "lost":
      return LEASE_LOST;
    case "failed":
      return { ...committed, stage: "commit", claim };
    case "unconfirmed":
      return { kind: "stopped", claim }; // P6
    case "duplicate":
    case "stale":
    case "busy":
    case "parked":
      return afterRefusal(stages, committed);
    default:
      return unreachable(committed);
  }
}

/** The ledger refused the claim or the commit: the record is not processed now. */
function afterRefusal(
  stages: Stages,
  refusal: Exclude<ClaimOutcome, { kind: "claimed" }>,
): Progress {
  const { clock, random } = stages;
  switch (refusal.kind) {
    case "duplicate":
    case "stale":
      return { kind: "done", how: refusal.kind }; // P1
    case "busy": {
      const remainingMs = Math.min(msBetween(clock.now(), refusal.until), stages.busyMsMax);
      const delayMs = busyDelayMs(remainingMs, random.fraction());
      return { kind: "later", delayMs, why: "busy", blames: "record" };
    }
    case "parked":
      return isHeldFailure(refusal.failure)
        ? { kind: "held", fence: refusal.fence }
        : { kind: "parked", fence: refusal.fence };
    case "unavailable":
      return refusal;
    default:
      return unreachable(refusal);
  }
}
