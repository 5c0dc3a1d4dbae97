// TopicHousekeeping: erases state of topics that no request can see any more, under the rules of
// housekeeping.ts.

import { SNS_CONFIRMATION_MS, SNS_DEDUP_WINDOW_MS } from "../../../core/limits.ts";
import type { RunningTime } from "../../../core/running-time.ts";
import { epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import type { Topic } from "./topic.ts";
import { isStale } from "./topics.ts";

/** The most archived messages of a topic that one run erases. */
const ARCHIVE_PER_ROUND_MAX = 1_000;

/** Brings a topic's deduplication window to the step. */
export function advanceTopic(state: BrokerState, topic: Topic, step: ModelStep): void {
  topic.dedup.expire(state.time.ago(step.now, SNS_DEDUP_WINDOW_MS));
}

/** When the next thing expires that housekeeping would erase; infinity if nothing does. */
export function nextTopicHousekeepingAt(state: BrokerState): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const topic of state.topics.byName.values()) {
    earliest = Math.min(earliest, nextEndIn(topic, state.time));
  }
  for (const { record } of state.topics.subscriptions.values()) {
    if (!record.confirmed) {
      earliest = Math.min(earliest, state.time.due(record.createdAt, SNS_CONFIRMATION_MS));
    }
  }
  return earliest;
}

function nextEndIn(topic: Topic, time: RunningTime): number {
  if (topic.dedup.popped > 0) return 0;
  const acceptedAt = topic.dedup.oldest();
  const archivedAt = topic.archive.oldest();
  const { archiveMs } = topic.settings;
  return Math.min(
    acceptedAt === null ? Number.POSITIVE_INFINITY : time.due(acceptedAt, SNS_DEDUP_WINDOW_MS),
    archivedAt === null || archiveMs === null
      ? Number.POSITIVE_INFINITY
      : time.due(archivedAt, archiveMs),
  );
}

export function runTopicHousekeeping(state: BrokerState, step: ModelStep): void {
  const windowStart = epochMs(state.time.ago(step.now, SNS_DEDUP_WINDOW_MS) + 1);
  for (const topic of state.topics.byName.values()) {
    advanceTopic(state, topic, step);
    expireArchive(topic, step, state.time);
    if (topic.dedup.popped === 0) continue;
    step.emit({ kind: "expire-dedup", queue: topic.record.number, before: windowStart });
    topic.dedup.forgetPopped();
  }
  for (const subscription of [...state.topics.subscriptions.values()]) {
    if (isStale(subscription.record, step.now, state.time)) {
      state.topics.removeSubscription(state, subscription, step);
    }
  }
}

function expireArchive(topic: Topic, step: ModelStep, time: RunningTime): void {
  const { archiveMs } = topic.settings;
  if (archiveMs === null) return;
  const through = time.ago(step.now, archiveMs);
  for (const seq of topic.archive.expire(through, ARCHIVE_PER_ROUND_MAX)) {
    step.emit({ kind: "delete-message", seq });
  }
}
