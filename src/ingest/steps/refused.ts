// Refused: how a record ends that the ledger did not let this consumer claim or commit.

import { unreachable } from "../../core/assert.ts";
import { type DurationMs, msBetween } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { isHeldFailure } from "../late/held-note.ts";
import { busyDelayMs } from "../policy/retry.ts";
import type { ClaimOutcome } from "../stages/claim.ts";
import type { Ended } from "./work.ts";

export type Refusals = (refusal: Exclude<ClaimOutcome, { kind: "claimed" }>) => Ended;

export function createRefusals(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  /** The longest lease of a claim: no record is busy for longer (Y5 of retry.ts). */
  busyMsMax: DurationMs,
): Refusals {
  return (refusal) => {
    switch (refusal.kind) {
      case "duplicate":
      case "stale":
        return { kind: "done", how: refusal.kind }; // P1
      case "busy": {
        const remainingMs = Math.min(msBetween(clock.now(), refusal.until), busyMsMax);
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
  };
}
