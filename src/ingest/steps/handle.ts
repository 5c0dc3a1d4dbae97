// Handle step: runs the handler, unless the record is known not to be current (P6 of pipeline.ts).

import { unreachable } from "../../core/assert.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Claim } from "../stages/claim.ts";
import type { Handled, HandleStage } from "../stages/handle.ts";
import { LEASE_LOST } from "../stages/outcome.ts";
import type { Answer, Ended, Step } from "./work.ts";

const NOT_CURRENT: Handled = { kind: "dropped", reason: "the bucket has a newer state" };

export function createHandleStep(
  handle: Pick<HandleStage, "handle">,
  /** Called before the handler runs. */
  onHandle: (inFlight: InFlightDelivery) => void,
): Step {
  return async (work): Promise<Answer> => {
    const { record, claim, inFlight } = work;
    let handled = NOT_CURRENT;
    if (claim.confirmed?.isCurrent !== false) {
      onHandle(inFlight);
      handled = await handle.handle(record, claim, claim.input.lane, inFlight);
    }
    if (handled.kind !== "handled" && handled.kind !== "dropped") return notHandled(handled, claim);
    work.handled = handled;
    return "next";
  };
}

/** How an attempt ends that has nothing to commit. */
export function notHandled(
  handled: Exclude<Handled, { kind: "handled" | "dropped" }>,
  claim: Claim,
): Ended {
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
