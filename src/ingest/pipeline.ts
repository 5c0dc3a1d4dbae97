// Pipeline: the path of one delivery through the stages.
//
//   receive  ->  decode   ->  claim  ->  handle   ->  commit  ->  settle
//   Delivery ->  Record[] ->  Claim  ->  Effects  ->  Commit  ->  Settlement
//                               |           |            |
//                               +-----------+------------+--->  fail
//
// Each stage has its own file in stages/. The consumer (running/consumer.ts) runs receive before
// this page and settle after it. What is between claim and settle, this page runs in the order of
// STEPS; each step has its own file in steps/, with no more ports than it needs:
//
//   claim -> govern -> attempts -> eventTime -> late -> confirm -> handle
//         -> prepare (quarantine -> archive -> sink) -> stopRenewal -> commit
//
// A step answers "next", or how the attempt ended. No step calls another. Telemetry sees each step
// (telemetry/step-telemetry.ts). This page asserts the promises below where they could break.
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
//   P7. A message is governed before it is stored: by handle, or by the govern step if it is not
//       handled because it is late, its event time failed or its attempts are used up.

import { assert, InvariantError, unreachable } from "../core/assert.ts";
import { parseTraceparent } from "../core/events/trace-context.ts";
import type { DeliveryTrace, InFlightDelivery } from "./running/in-flight-delivery.ts";
import type { KeyedPool } from "./running/keyed-pool.ts";
import type { WatermarkTracker } from "./running/watermark-tracker.ts";
import type { ClaimStage } from "./stages/claim.ts";
import type { DecodedDelivery, WorkRecord } from "./stages/decode.ts";
import type { EventTimes, TimedRecord } from "./stages/event-time.ts";
import type { FailStage } from "./stages/fail.ts";
import type { LateStage } from "./stages/late.ts";
import {
  errorTypeOf,
  LEASE_LOST,
  NOT_RUN,
  type RecordOutcome,
  settlementOf,
} from "./stages/outcome.ts";
import type { Settlement } from "./stages/settle.ts";
import type { Refusals } from "./steps/refused.ts";
import type { StopRenewal } from "./steps/stop-renewal.ts";
import { type Answer, beginWork, type Ended, type RecordWork, type Step } from "./steps/work.ts";
import type { StepTelemetry } from "./telemetry/step-telemetry.ts";
import type { Tally } from "./telemetry/tally.ts";

/** The steps of a claimed record, in this order. */
const STEPS = [
  "govern", // P7
  "attempts",
  "eventTime",
  "late",
  "confirm", // P6
  "handle",
  "prepare",
  "stopRenewal", // P5
  "commit", // P2
] as const;

type StepName = (typeof STEPS)[number];

export interface Stages {
  readonly decode: (inFlight: InFlightDelivery) => DecodedDelivery;
  /** Names the group of the pool in which a record waits for its turn. */
  readonly groupOf: (record: WorkRecord, inFlight: InFlightDelivery) => string;
  /** Finds the event time and the partition of a record. */
  readonly times: EventTimes;
  readonly claim: Pick<ClaimStage, "claim" | "end">;
  readonly steps: Readonly<Record<StepName, Step>> & { readonly stopRenewal: StopRenewal };
  /** Ends a claimed or refused record whose steps failed. */
  readonly fail: FailStage;
  /** How a record ends that the ledger did not let this consumer claim. */
  readonly refused: Refusals;
  /** Holds records that are too late, or sends them elsewhere. */
  readonly late: Pick<LateStage, "routes" | "again">;
  readonly watermark: WatermarkTracker;
  readonly tally: Tally;
  readonly telemetry: StepTelemetry;
  /** Whether a group halts at the first record that is not done (P4). */
  readonly halting: boolean;
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
    const halted = new Set<string>();
    const finish = (record: WorkRecord, outcome: RecordOutcome) => {
      stages.tally.outcome(record, outcome, inFlight);
      stages.onOutcome(record, outcome, inFlight);
      outcomes.push(outcome);
      if (outcomes.length === records.length) resolve(settled(outcomes)); // P1
      assert(outcomes.length <= records.length, "P3: a record has one outcome");
    };
    for (const record of records) {
      const group = stages.groupOf(record, inFlight);
      pool.add(group, {
        async run() {
          assert(!halted.has(group), "P4: no record runs in a halted group");
          const span = stages.tally.begin(record, inFlight);
          const traced = span.context === null ? record : { ...record, span: span.context };
          const outcome = await runRecord(stages, traced, inFlight);
          inFlight.processed = span.context;
          const errorType = errorTypeOf(outcome);
          span.end(errorType === null ? {} : { errorType });
          finish(record, outcome);
          if (!stages.halting || outcome.kind === "done") return "next";
          halted.add(group);
          return "halt";
        },
        skip: () => finish(record, NOT_RUN), // P4
      });
    }
  });
}

function settled(outcomes: readonly RecordOutcome[]): Settlement {
  const settlement = settlementOf(outcomes);
  const mayDelete = settlement.kind !== "delete" || outcomes.every(({ kind }) => kind === "done");
  assert(mayDelete, "P1: a delivery is deleted after all its records are done");
  return settlement;
}

/** A message without a trace belongs to that of its receive, so that logs and spans agree. */
function traceOf(own: DeliveryTrace, { receive }: InFlightDelivery): DeliveryTrace {
  if (own.context !== null || own.traceId !== null || receive === null) return own;
  return { context: receive, traceId: parseTraceparent(receive.traceparent)?.traceId ?? null };
}

/** Finds the event time of a record, and counts it as in flight while it is claimed and run. */
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

/** Claims a record and takes it through the steps. */
async function runTimed(
  stages: Stages,
  timed: TimedRecord,
  inFlight: InFlightDelivery,
): Promise<RecordOutcome> {
  const { record } = timed;
  const onClaim = stages.telemetry.claim(record);
  const claim = await stages.claim.claim(record, inFlight);
  onClaim(claim);
  if (claim.kind !== "claimed") {
    return outcomeOf(stages, record, stages.refused(claim), inFlight);
  }
  const work = beginWork(timed, claim, stages.late.routes(claim.input.lane), inFlight);
  const ended = await runSteps(stages, work);
  if (goesToFail(ended)) stages.steps.stopRenewal(work); // P5
  assertEnd(ended, work);
  const outcome = await outcomeOf(stages, record, ended, inFlight);
  stages.claim.end(record, claim, inFlight);
  stages.telemetry.ended(work, ended, outcome);
  return outcome;
}

/** Runs the steps of a claimed record until one of them ends the attempt. */
async function runSteps({ steps, telemetry }: Stages, work: RecordWork): Promise<Ended> {
  for (const name of STEPS) {
    assertBefore(name, work);
    let answer: Answer;
    try {
      telemetry.before(name, work);
      const answering = steps[name](work);
      answer = answering instanceof Promise ? await answering : answering;
      telemetry.after(name, work, answer);
    } catch (error) {
      return { kind: "unavailable", error }; // P3
    }
    if (answer !== "next") return answer;
  }
  throw new InvariantError("P3: the last step ends the attempt");
}

/** The outcome of a record whose steps ended, with the help of the fail and late stages. */
async function outcomeOf(
  stages: Stages,
  record: WorkRecord,
  ended: Ended,
  inFlight: InFlightDelivery,
): Promise<RecordOutcome> {
  switch (ended.kind) {
    case "done":
    case "later":
    case "lost":
      return ended;
    case "held":
      try {
        return await stages.late.again(record, ended.fence, inFlight);
      } catch (error) {
        return stages.fail.fail(record, { kind: "unavailable", error }, inFlight); // P3
      }
    case "failed":
    case "exhausted":
    case "stopped":
    case "parked":
    case "unavailable":
      return stages.fail.fail(record, ended, inFlight);
    default:
      return unreachable(ended);
  }
}

/** Whether the fail stage ends the claim in the ledger. */
function goesToFail({ kind }: Ended): boolean {
  return kind !== "done" && kind !== "later" && kind !== "lost" && kind !== "held";
}

function assertBefore(step: StepName, work: RecordWork): void {
  const { timed, claim, record, prepared } = work;
  const isCurrent = claim.confirmed?.isCurrent !== false;
  if (step === "eventTime") {
    assert(timed.failure === null || work.mayStore, "P7: governed before its failure is stored");
  } else if (step === "late") {
    assert(!work.isTooLate || work.mayStore, "P7: governed before it is held");
  } else if (step === "handle") {
    assert(claim.confirm === undefined || !!claim.confirmed, "P6: confirmed before it is handled");
  } else if (step === "commit") {
    assert(!work.isRenewed, "P5: renewal stops before the commit");
    assert(prepared?.write.key === record.key, "P2: a record commits its own effects");
    assert(isCurrent || !prepared.write.writes, "P6: only a current record has effects");
  }
}

function assertEnd(ended: Ended, work: RecordWork): void {
  assert(!goesToFail(ended) || !work.isRenewed, "P5: renewal stops before the failure is stored");
  assert(ended.kind !== "exhausted" || work.mayStore, "P7: governed before it is dead-lettered");
}
