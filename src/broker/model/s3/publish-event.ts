// Publish event: the interface between buckets and topics. S3 knows nothing else of topics.
//   D1. An event is published in the step of its object's change: object, message and all copies
//       are one commit.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import type { DurationMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { stepPublish } from "../sns/publish.ts";
import type { ModelStep } from "../step.ts";
import type { Origin } from "./s3-operations.ts";

const SUBJECT = "Amazon S3 Notification";

/** Whether an ARN is a topic of this broker. */
export function isTopic(state: BrokerState, topicArn: string): boolean {
  return state.topics.byName.has(nameOf(state, topicArn) ?? "");
}

/** Skips a topic that no longer exists or does not accept messages of this size. */
export function deliverToTopic(
  state: BrokerState,
  step: ModelStep,
  topicArn: string,
  body: string,
  origin: Origin,
  lateMs?: DurationMs,
): void {
  const topic = nameOf(state, topicArn);
  if (topic === null) return;
  const sizeBytes = utf8ByteLength(body);
  const entry = { body, sizeBytes, bodies: null, subject: SUBJECT, attributes: null };
  const entries = [{ ...entry, groupId: null, dedupId: null }];
  const context = { origin: origin.url, traceHeader: origin.traceHeader ?? null, lateMs };
  stepPublish(state, step, { topic, entries, batch: false, ...context }); // D1
}

function nameOf(state: BrokerState, topicArn: string): string | null {
  const prefix = state.topicArnOf("");
  return topicArn.startsWith(prefix) ? topicArn.slice(prefix.length) : null;
}
