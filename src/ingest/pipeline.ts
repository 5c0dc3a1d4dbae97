// The pipeline: what happens to a delivery, from the moment the queue hands it over.
//
//   receive  ->  decode  ->  claim  ->  handle  ->  commit  ->  settle
//   Delivery ->  Record[] -> Claim  ->  Effects ->  Commit  ->  Settlement
//
// Each stage has a file of its own beside this one and no stage calls back. Read them in that
// order.
//   P1. Nothing is acknowledged before what came of it is durable. A crash between commit and
//       settle is a duplicate delivery, which claim or commit answers with "already committed".
//   P2. Effects happen in the commit or not at all, and the commit happens once per record key,
//       however often the record is delivered and however many consumers work on it.
//   P3. Every record comes to an outcome: done, later, or another's. There is no fourth way, and no
//       error of a handler, a sink, a ledger or a queue gets past this page.
//   P4. What waits for its turn is skipped, not run, once its lane has halted: order within a FIFO
//       group is worth more than progress.

import { unreachable } from "../core/assert.ts";
import { msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { busyDelayMs } from "./policy/retry.ts";
import type { InFlightDelivery } from "./running/in-flight-delivery.ts";
import type { KeyedPool } from "./running/keyed-pool.ts";
import type { WatermarkTracker } from "./running/watermark-tracker.ts";
import type { Claim, Claimed, ClaimStage } from "./stages/claim.ts";
import type { CommitOutcome, CommitStage } from "./stages/commit.ts";
import type { DecodedDelivery, WorkRecord } from "./stages/decode.ts";
import type { FailStage } from "./stages/fail.ts";
import type { HandleStage } from "./stages/handle.ts";
import { NOT_RUN, type RecordOutcome, settlementOf } from "./stages/outcome.ts";
import type { Settlement } from "./stages/settle.ts";
import type { Tally } from "./telemetry/tally.ts";

export interface Stages {
  readonly decode: (hold: InFlightDelivery) => DecodedDelivery;
  /** The lane in which a record waits for its turn. */
  readonly laneOf: (record: WorkRecord, hold: InFlightDelivery) => string;
  readonly claim: ClaimStage;
  readonly handle: HandleStage;
  readonly commit: CommitStage;
  readonly fail: FailStage;
  readonly watermark: WatermarkTracker;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly random: Random;
  /** A lane halts at the first record that is not done (P4). */
  readonly halting: boolean;
  readonly attemptsMax: number;
  /** Hears of every outcome, once. */
  readonly onOutcome: (record: WorkRecord, outcome: RecordOutcome, hold: InFlightDelivery) => void;
}

/** Takes a delivery through all stages, to what the queue is to be told of it. */
export function runDelivery(
  stages: Stages,
  lanes: KeyedPool,
  hold: InFlightDelivery,
): Promise<Settlement> {
  const { records, ignored, trace } = stages.decode(hold);
  hold.trace = trace;
  stages.tally.decoded(hold, ignored);
  if (records.length === 0) return Promise.resolve(settlementOf([]));
  return new Promise((resolve) => {
    const outcomes: RecordOutcome[] = [];
    const tell = (record: WorkRecord, outcome: RecordOutcome) => {
      stages.tally.outcome(record, outcome, hold);
      stages.onOutcome(record, outcome, hold);
      outcomes.push(outcome);
      if (outcomes.length === records.length) resolve(settlementOf(outcomes));
    };
    for (const record of records) {
      lanes.add(stages.laneOf(record, hold), {
        async run() {
          const span = stages.tally.begin(record, hold);
          const outcome = await runRecord(stages, record, hold).catch(
            (error: unknown) => stages.fail.unavailable(record, error, hold), // P3
          );
          span.end(outcome.kind === "done" ? {} : { errorType: outcome.kind });
          tell(record, outcome);
          return stages.halting && outcome.kind !== "done" ? "halt" : "next";
        },
        skip: () => tell(record, NOT_RUN), // P4
      });
    }
  });
}

/** Takes one record through claim, handle and commit (P3). */
async function runRecord(
  stages: Stages,
  record: WorkRecord,
  hold: InFlightDelivery,
): Promise<RecordOutcome> {
  if (!hold.alive()) return { kind: "lost" };
  let claimed: Claimed;
  const askedAt = stages.clock.now();
  try {
    claimed = await stages.claim.claim(record, hold);
  } catch (error) {
    return stages.fail.unavailable(record, error, hold);
  }
  stages.tally.stage("claim", askedAt);
  if (claimed.kind !== "claimed") return refused(stages, record, claimed, hold);
  try {
    return await runClaimed(stages, record, claimed, hold);
  } finally {
    stages.claim.end(record, claimed, hold);
  }
}

async function runClaimed(
  stages: Stages,
  record: WorkRecord,
  claim: Claim,
  hold: InFlightDelivery,
): Promise<RecordOutcome> {
  const { fail, watermark, tally } = stages;
  const onSealing = () => stages.claim.letGo(record, claim, hold);
  if (claim.attempt > stages.attemptsMax) {
    return fail.exhausted(record, claim, hold);
  }
  const decision = watermark.decide(record, hold);
  const handled = await stages.handle.handle(record, claim, decision.lane, hold);
  tally.stage("handle", claim.startedAt);
  switch (handled.kind) {
    case "handled": {
      const { effects, secrets } = handled;
      const handledAt = stages.clock.now();
      const sealed = await stages.commit.commit(
        record,
        claim,
        { effects, decision, secrets, onSealing },
        hold,
      );
      tally.stage("commit", handledAt);
      return sealedOutcome(stages, record, claim, sealed, hold);
    }
    case "dropped": {
      const work = { effects: [], decision, secrets: [], onSealing };
      const sealed = await stages.commit.commit(record, claim, work, hold);
      const outcome = await sealedOutcome(stages, record, claim, sealed, hold);
      return outcome.kind === "done" ? { kind: "done", how: "dropped" } : outcome;
    }
    case "failed":
      onSealing();
      return fail.fail(record, claim, { ...handled, stage: "handle" }, hold);
    case "stopped":
      onSealing();
      return fail.giveBack(record, claim, hold);
    case "lost":
      return { kind: "lost" };
    default:
      return unreachable(handled);
  }
}

function sealedOutcome(
  stages: Stages,
  record: WorkRecord,
  claim: Claim,
  sealed: CommitOutcome,
  hold: InFlightDelivery,
): Promise<RecordOutcome> | RecordOutcome {
  switch (sealed.kind) {
    case "committed":
    case "superseded":
      return { kind: "done", how: sealed.kind };
    case "fenced":
    case "lost":
      return { kind: "lost" };
    case "failed":
      return stages.fail.fail(record, claim, { ...sealed, stage: "commit" }, hold);
    default:
      return refused(stages, record, sealed, hold);
  }
}

/** The ledger says that there is nothing for us to do, or not now. */
function refused(
  stages: Stages,
  record: WorkRecord,
  refusal: Exclude<Claimed, { kind: "claimed" }>,
  hold: InFlightDelivery,
): Promise<RecordOutcome> | RecordOutcome {
  const { clock, random } = stages;
  switch (refusal.kind) {
    case "duplicate":
    case "stale":
      return { kind: "done", how: refusal.kind }; // P1
    case "busy": {
      const remainingMs = msBetween(clock.now(), refusal.until);
      const delayMs = busyDelayMs(remainingMs, random.fraction());
      return { kind: "later", delayMs, why: "busy", blames: "record" };
    }
    case "parked":
      return stages.fail.parked(record, refusal.fence, hold);
    default:
      return unreachable(refusal);
  }
}
