// Claim: gives this consumer the exclusive right to process a record for a limited time.
//   C1. A handler runs only under a live lease: a claim in the ledger or, where that is enough, the
//       queue's receipt.
//   C2. Fences only grow. The ledger rejects an old fence; this stage does not compare fences.
//   C3. Only claim and commit answer "duplicate"; both ask the ledger in one atomic step.
//   C4. The receipt is enough for a first delivery whose effects are all in the commit: the first
//       commit wins, and the loser has written nothing. A redelivery may have crashed its consumer,
//       so it is claimed, which counts the attempt before it begins. A redriven dead letter is
//       claimed, too: its object may have newer events.
//   C5. A duplicate of a record that is in flight on its receipt in this process is returned.
//   C6. No handler runs if the ledger had a record of its key when this stage asked. A first
//       delivery asks by a read, and takes the receipt only if there is none; the claim decides
//       about any other. A commit can still follow the read: two processes that hold duplicates on
//       receipts at the same time may both run, and one of them commits.
//   C7. Keys that this process recently ran or claimed skip the read: the claim decides about them.
//       The set is a hint, and a wrong hint costs one write. It exists only if keys are read.
//   C8. A handler runs in the lane and at the event time that the ledger recorded first, not with
//       those of this attempt.
//   C9. A record that is too late, and is held or sent elsewhere, is claimed: parking it needs a
//       fence.
//   C10. A state that was found in a listing is claimed: only a claim finds its order, and asks the
//       caller to confirm it (S7 of ledger/record-transitions.ts).

import { addMs, type DurationMs, seconds } from "../../core/units.ts";
import { LEDGER_BATCH_MAX } from "../../ledger/batches.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { ClaimRequest, ClaimResult, Ledger } from "../../ports/ledger.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type {
  Confirmation,
  LaneDecision,
  LedgerScope,
  RecordInput,
  RecordKey,
} from "../../ports/record.ts";
import type { Turn } from "../../ports/turn.ts";
import { isTidegateAttribute } from "../dead-letters/dead-letter.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import { createRecentKeys } from "../running/recent-keys.ts";
import { triedNote } from "../running/tried-note.ts";
import type { WorkRecord } from "./decode.ts";
import type { InputOf } from "./record-input.ts";
import { createTurnBatcher } from "./turn-batcher.ts";

/** The right to process a record. */
export interface Claim {
  readonly kind: "claimed";
  /** Null: the queue's receipt is the lease (C4). */
  readonly fence: Extract<ClaimResult, { kind: "claimed" }>["fence"] | null;
  readonly attempt: number;
  readonly startedAt: ReturnType<Clock["now"]>;
  /** As stored, with the recorded lane and event time; on a receipt, as it will be stored. */
  readonly input: RecordInput;
  /** Set if the order of the record has to be confirmed (stages/confirm.ts). */
  readonly confirm?: string;
  /** The answer of the bucket. */
  readonly confirmed?: Confirmation;
}

/** A claim, the ledger's refusal, or the error of a ledger that did not answer. */
export type ClaimOutcome =
  | Claim
  | Exclude<ClaimResult, { kind: "claimed" }>
  | { readonly kind: "unavailable"; readonly error: unknown };

export interface ClaimStage {
  /** Never rejects. */
  claim(record: WorkRecord, inFlight: InFlightDelivery): Promise<ClaimOutcome>;
  /** Call it before the ledger ends the claim: a later renewal would be refused. Idempotent. */
  stopRenewal(record: WorkRecord, claim: Claim, inFlight: InFlightDelivery): void;
  /** The attempt is over, whatever its outcome. */
  end(record: WorkRecord, claim: Claim, inFlight: InFlightDelivery): void;
}

/** Delay for a duplicate of a record that is in flight here. */
const BUSY_MS: DurationMs = seconds(5);
/** Records per ledger call; fewer than the limit, to keep round trips short. */
const KEYS_PER_CALL_MAX = Math.min(100, LEDGER_BATCH_MAX);
/** Half a megabyte (C7). */
const RECENT_KEYS_MAX = 65_536;

interface ClaimPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly renewer: LeaseRenewer;
  readonly turn: Turn;
  readonly inputOf: InputOf;
}

interface ClaimOptions {
  readonly scope: LedgerScope;
  readonly owner: string;
  /** How long a claim made now lasts. */
  readonly leaseMs: () => DurationMs;
  readonly receiptIsEnough: boolean;
  /** Whether a record of that lane may not be handled now (C9). Default: none. */
  readonly routes?: (decision: LaneDecision) => boolean;
}

export function createClaimStage(ports: ClaimPorts, options: ClaimOptions): ClaimStage {
  const { clock, ledger, renewer, turn, inputOf } = ports;
  const { scope, owner, receiptIsEnough, routes = () => false } = options;
  const hasRecord = createTurnBatcher<RecordKey, boolean>(turn, {
    max: KEYS_PER_CALL_MAX,
    run: (keys) => ledger.hasRecords(scope, keys),
  });
  /** Records in flight here without a claim in the ledger. */
  const onReceipt = new Set<RecordKey>();
  const recent = receiptIsEnough ? createRecentKeys(RECENT_KEYS_MAX) : null;
  const claimInLedger = createLedgerClaims(ports, options);
  const stopRenewal: ClaimStage["stopRenewal"] = ({ key }, { fence }, { delivery }) => {
    if (fence !== null) renewer.detach(delivery.receipt, { key, fence });
  };
  return {
    stopRenewal,
    async claim(record, inFlight) {
      const { key, content, object } = record;
      if (onReceipt.has(key)) {
        return { kind: "busy", until: addMs(clock.now(), BUSY_MS), owner }; // C5
      }
      const isListed = object?.listed === true; // C10
      const isFirst = isFresh(inFlight.delivery) && content.kind !== "unusable" && !isListed;
      try {
        if (recent !== null && isFirst && !recent.has(key)) {
          onReceipt.add(key); // Before the read, so that a duplicate does not read beside it (C5).
          if (!(await hasRecord(key))) {
            const input = inputOf(record, inFlight);
            const startedAt = clock.now();
            const receipt = { kind: "claimed", fence: null, attempt: 1, startedAt, input } as const;
            if (!routes(input.lane)) return receipt; // C4, C6
          }
          onReceipt.delete(key);
        }
        recent?.add(key); // C7
        return await claimInLedger(record, inFlight);
      } catch (error) {
        onReceipt.delete(key);
        return { kind: "unavailable", error };
      }
    },
    end(record, claim, inFlight) {
      if (claim.fence === null) onReceipt.delete(record.key);
      recent?.add(record.key); // C7
      stopRenewal(record, claim, inFlight);
    },
  };
}

function createLedgerClaims(ports: ClaimPorts, { scope, owner, leaseMs }: ClaimOptions) {
  const { clock, ledger, renewer, turn, inputOf } = ports;
  const ask = createTurnBatcher<ClaimRequest, ClaimResult>(turn, {
    max: KEYS_PER_CALL_MAX,
    run: (requests) => ledger.claim(scope, requests, { owner, leaseMs: leaseMs() }),
  });
  return async (record: WorkRecord, inFlight: InFlightDelivery): Promise<ClaimOutcome> => {
    const { key, object } = record;
    const { delivery, receivedAt } = inFlight;
    const startedAt = clock.now();
    const note = delivery.receiveCount > 1 ? triedNote(record, receivedAt) : null; // J1
    const more = { ...(object !== null && { object }), ...(note !== null && { note }) };
    const input = inputOf(record, inFlight);
    const answer = await ask({ key, receivedAt, input, ...more });
    if (answer.kind !== "claimed") return answer;
    const { kind, fence, attempt, lane, eventTime, confirm } = answer;
    renewer.attach(delivery.receipt, { key, fence }, startedAt);
    const recorded = { ...input, lane, eventTime }; // C8
    const claim = { kind, fence, attempt, startedAt, input: recorded };
    return confirm === undefined ? claim : { ...claim, confirm };
  };
}

/** Whether no consumer received it before, as a message or as a dead letter. */
function isFresh({ receiveCount, attributes }: Delivery): boolean {
  return receiveCount === 1 && !Object.keys(attributes).some(isTidegateAttribute);
}
