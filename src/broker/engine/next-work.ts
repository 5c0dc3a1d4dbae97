// Next work: what the engine has to do without a request, and when.

import { addMs, durationMs, type EpochMs } from "../../core/units.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";
import type { BrokerState } from "../model/broker-state.ts";
import { nextMoveAt } from "../model/sqs/move-tasks/move-task.ts";
import { nextPollAt } from "./long-polls.ts";

/** How often a full disk is looked at without a request (W10 of engine.ts). */
const SPACE_LOOK_MS = durationMs(5_000);

export interface NextWork {
  /** Whether there is work now. */
  readonly due: boolean;
  readonly wakeAt: EpochMs | null;
}

export interface Shortage {
  /** Whether the disk is full. */
  readonly full: boolean;
  readonly replySpace: ReplySpace | undefined;
}

/** Long polls, garbage, move tasks and replays; the last two pause while the disk is full. */
export function nextWork(
  state: BrokerState,
  now: EpochMs,
  { full, replySpace }: Shortage,
): NextWork {
  const pollAt = nextPollAt(state.waiting, now, replySpace);
  const garbage = state.garbage.length > 0;
  if (full) return { due: garbage, wakeAt: earlier(pollAt, addMs(now, SPACE_LOOK_MS)) };
  const moveAt = nextMoveAt(state);
  const due = garbage || state.topics.replaying.size > 0 || (moveAt !== null && moveAt <= now);
  return { due, wakeAt: earlier(pollAt, moveAt) };
}

function earlier(one: EpochMs | null, two: EpochMs | null): EpochMs | null {
  if (one === null || two === null) return one ?? two;
  return one < two ? one : two;
}
