// Topic delivery: the seam between buckets and topics. S3 knows of a topic only what stands here.

import type { BrokerState } from "../broker-state.ts";
import type { Step } from "../step.ts";

/** Whether an ARN names a topic that events can be sent to. There are no topics yet. */
export function isTopic(_state: BrokerState, _topicArn: string): boolean {
  return false;
}

/** Publishes an event to a topic, in the same step as what it tells of. */
export function deliverToTopic(
  _state: BrokerState,
  _step: Step,
  _topicArn: string,
  _message: string,
  _subject: string,
): void {
  // A topic cannot be configured before there are topics, so that nothing ever comes here.
}
