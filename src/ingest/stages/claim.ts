// Claim: gives this consumer the exclusive right to process a record for a limited time.
//   C1. A handler runs only under a live lease: a claim in the ledger or, where that is enough, the
//       queue's receipt.
//   C2. Fences only grow. The ledger rejects an old fence; this stage does not compare fences.
//   C3. Only claim and commit answer "duplicate"; both ask the ledger in one atomic step.
//   C4. The receipt is enough for a first delivery whose effects are all in the commit: the first
//       commit wins, and the loser has written nothing. A redelivery may have crashed its consumer,
//       so it is claimed, which counts the attempt before it begins. A redriven dead letter is
//       claimed, too: its object may have newer events. A bare dead letter carries no mark and
//       looks like a first delivery. Its commit then finds the record parked or its object newer,
//       and writes nothing.
//   C5. A duplicate of a record that is in flight in this process is returned, claim or not. Two
//       processes that hold duplicates on receipts alone both run, and one of them commits.

import { addMs, type DurationMs, seconds } from "../../core/units.ts";
import { LEDGER_BATCH_MAX } from "../../ledger/batches.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { ClaimRequest, ClaimResult, Ledger } from "../../ports/ledger.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { Turn } from "../../ports/turn.ts";
import { isTidegateAttribute } from "../dead-letters/dead-letter.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import { triedNote } from "../running/tried-note.ts";
import type { WorkRecord } from "./decode.ts";
import { createTurnBatcher } from "./turn-batcher.ts";

/** The right to process a record. */
export interface Claim {
  readonly kind: "claimed";
  /** Null: the queue's receipt is the lease (C4). */
  readonly fence: Extract<ClaimResult, { kind: "claimed" }>["fence"] | null;
  readonly attempt: number;
  readonly startedAt: ReturnType<Clock["now"]>;
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
/** Claims per ledger call; fewer than the limit, to keep round trips short. */
const CLAIMS_PER_CALL_MAX = Math.min(100, LEDGER_BATCH_MAX);

export function createClaimStage(
  ports: {
    readonly clock: Clock;
    readonly ledger: Ledger;
    readonly renewer: LeaseRenewer;
    readonly turn: Turn;
  },
  options: {
    readonly scope: LedgerScope;
    readonly owner: string;
    readonly leaseMs: DurationMs;
    readonly receiptIsEnough: boolean;
  },
): ClaimStage {
  const { clock, ledger, renewer, turn } = ports;
  const { scope, owner, leaseMs, receiptIsEnough } = options;
  const ask = createTurnBatcher<ClaimRequest, ClaimResult>(turn, {
    max: CLAIMS_PER_CALL_MAX,
    run: (requests) => ledger.claim(scope, requests, { owner, leaseMs }),
  });
  /** Records in flight here without a claim in the ledger. */
  const onReceipt = new Set<RecordKey>();
  const stopRenewal: ClaimStage["stopRenewal"] = ({ key }, { fence }, { delivery }) => {
    if (fence !== null) renewer.detach(delivery.receipt, { key, fence });
  };
  return {
    stopRenewal,
    async claim(record, inFlight) {
      const { key, object, content } = record;
      const { delivery, receivedAt } = inFlight;
      const startedAt = clock.now();
      if (onReceipt.has(key)) {
        return { kind: "busy", until: addMs(startedAt, BUSY_MS), owner }; // C5
      }
      if (receiptIsEnough && isFresh(delivery) && content.kind !== "unusable") {
        onReceipt.add(key);
        return { kind: "claimed", fence: null, attempt: 1, startedAt }; // C4
      }
      try {
        const note = delivery.receiveCount > 1 ? triedNote(record, receivedAt) : null; // J1
        const more = { ...(object !== null && { object }), ...(note !== null && { note }) };
        const answer = await ask({ key, receivedAt, ...more });
        if (answer.kind !== "claimed") return answer;
        const { fence, attempt } = answer;
        renewer.attach(delivery.receipt, { key, fence }, startedAt);
        return { kind: "claimed", fence, attempt, startedAt };
      } catch (error) {
        return { kind: "unavailable", error };
      }
    },
    end(record, claim, inFlight) {
      if (claim.fence === null) onReceipt.delete(record.key);
      stopRenewal(record, claim, inFlight);
    },
  };
}

/** Whether no consumer received it before, as a message or as a dead letter. */
function isFresh({ receiveCount, attributes }: Delivery): boolean {
  return receiveCount === 1 && !Object.keys(attributes).some(isTidegateAttribute);
}
