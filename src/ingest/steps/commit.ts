// Commit step: writes outcome and effects of a record in one atomic write.

import { present, unreachable } from "../../core/assert.ts";
import type { Claim } from "../stages/claim.ts";
import type { CommitOutcome, CommitStage } from "../stages/commit.ts";
import { LEASE_LOST } from "../stages/outcome.ts";
import type { Uncommitted } from "../stages/prepare.ts";
import type { Refusals } from "./refused.ts";
import type { Ended, RecordWork, Step } from "./work.ts";

export function createCommitStep(commit: CommitStage, refused: Refusals): Step {
  return async (work) => {
    const { claim, inFlight } = work;
    const prepared = present(work.prepared, "the prepared commit");
    const committed = await commit(prepared, claim, inFlight);
    work.committed = committed;
    const ended = afterCommit(committed, claim, refused);
    return ended.kind === "done" && wasDropped(work) ? { kind: "done", how: "dropped" } : ended;
  };
}

/** Whether the pipeline drops the record because its object is missing. */
function wasDropped({ handled, claim }: RecordWork): boolean {
  return handled?.kind === "dropped" && claim.confirmed?.isCurrent !== false;
}

function afterCommit(committed: CommitOutcome, claim: Claim, refused: Refusals): Ended {
  switch (committed.kind) {
    case "committed":
    case "superseded":
      return { kind: "done", how: committed.kind };
    case "fenced":
      return LEASE_LOST;
    case "lost":
    case "failed":
      return uncommitted(committed, claim);
    case "unconfirmed":
      return { kind: "stopped", claim }; // P6
    case "duplicate":
    case "stale":
    case "busy":
    case "parked":
      return refused(committed);
    default:
      return unreachable(committed);
  }
}

export function uncommitted(result: Uncommitted, claim: Claim): Ended {
  return result.kind === "lost" ? LEASE_LOST : { ...result, stage: "commit", claim };
}
