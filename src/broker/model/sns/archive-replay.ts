// Archive replay: sends the archived messages of a FIFO topic to one of its subscribers again.
//   R1. A replay walks the archive in order, some messages per step, and commits its progress in
//       the same step: after a crash it continues with the next message.
//   R2. While it runs, new messages are not sent to the subscriber directly: the replay reaches
//       them as well, so that the order of groups holds and none is lost. They are not marked as
//       replayed.
//   R3. It ends when it has walked the whole archive; from then on, messages are sent directly.

import { parseInstant } from "../../../core/encoding/rfc3339.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { readArchived } from "./publish.ts";
import { deliverCopy } from "./subscriber-delivery.ts";
import type { Subscription } from "./subscription.ts";

/** The most archived messages that one step reads. */
const REPLAYED_PER_STEP_MAX = 100;

export interface ArchiveReplay {
  readonly startAt: EpochMs;
  readonly endAt: EpochMs | null;
  /** Number of the last message that it has read. */
  readonly through: number;
  /** Messages with greater numbers were published after it began (R2). */
  readonly liveAfter: number;
  readonly status: "Pending" | "In progress" | "Completed";
}

export interface ReplayPolicy {
  readonly startAt: EpochMs;
  readonly endAt: EpochMs | null;
}

export function parseReplayPolicy(text: string): Result<ReplayPolicy, string> {
  let policy: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null)
      return refuseWith("ReplayPolicy: failed to parse JSON.");
    policy = parsed as Record<string, unknown>;
  } catch {
    return refuseWith("ReplayPolicy: failed to parse JSON.");
  }
  if (policy.PointType !== "Timestamp")
    return refuseWith("ReplayPolicy: PointType must be Timestamp");
  const startAt = readInstant(policy.StartingPoint);
  if (startAt === null) return refuseWith("ReplayPolicy: StartingPoint must be a timestamp");
  const { EndingPoint: ending } = policy;
  if (ending === undefined || ending === null || ending === "") {
    return succeed({ startAt, endAt: null });
  }
  const endAt = readInstant(ending);
  if (endAt === null) return refuseWith("ReplayPolicy: EndingPoint must be a timestamp");
  if (endAt < startAt)
    return refuseWith("ReplayPolicy: EndingPoint must not be before StartingPoint");
  return succeed({ startAt, endAt });
}

function readInstant(value: unknown): EpochMs | null {
  if (typeof value !== "string") return null;
  const instant = parseInstant(value);
  return instant.kind === "instant" ? instant.epochMs : null;
}

/** `running` is the replay that this one replaces; messages that it held back stay live. */
export function startReplay(
  state: BrokerState,
  policy: ReplayPolicy,
  running: ArchiveReplay | null,
): ArchiveReplay {
  const liveAfter =
    running === null ? state.sequence : Math.max(running.liveAfter, running.through);
  return { ...policy, through: 0, liveAfter, status: "Pending" };
}

/** Runs the next step of every replay. */
export function runReplays(state: BrokerState, step: ModelStep): void {
  for (const subscription of [...state.topics.replaying]) runReplay(state, step, subscription);
}

function runReplay(state: BrokerState, step: ModelStep, subscription: Subscription): void {
  const { replay } = subscription.record;
  if (replay === null) return;
  const entries = subscription.topic.archive.after(replay.through, REPLAYED_PER_STEP_MAX);
  let { through } = replay;
  for (const entry of entries) {
    if (through !== replay.through && step.isFull) break;
    through = entry.seq;
    const live = entry.seq > replay.liveAfter; // R2
    const inRange =
      entry.at >= replay.startAt && (replay.endAt === null || entry.at <= replay.endAt);
    if (live || inRange) {
      deliverCopy(state, step, subscription, readArchived(step, entry, !live));
    }
  }
  const isRead = through === (entries.at(-1)?.seq ?? replay.through);
  const ended = isRead && entries.length < REPLAYED_PER_STEP_MAX; // R3
  const next: ArchiveReplay = {
    ...replay,
    through,
    status: ended ? "Completed" : "In progress",
  };
  state.topics.saveSubscription(subscription, { ...subscription.record, replay: next }, step); // R1
}
