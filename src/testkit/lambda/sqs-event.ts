// SQS event: a batch of deliveries as Lambda passes it to a function.

import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import { md5Hex } from "../../core/encoding/hash.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

const SENDER = "AIDAIENQZJOLO23YVJ4VO";

/** The event of a batch from the queue with that ARN. */
export function sqsEvent(deliveries: readonly Delivery[], arn: string): JsonObject {
  const awsRegion = parseQueueArn(arn)?.region ?? "us-east-1";
  return {
    Records: deliveries.map((delivery) => ({
      messageId: delivery.messageId,
      receiptHandle: delivery.receipt,
      body: delivery.body,
      attributes: systemAttributes(delivery),
      messageAttributes: Object.fromEntries(
        Object.entries(delivery.attributes).map(([name, stringValue]) => [
          name,
          { stringValue, stringListValues: [], binaryListValues: [], dataType: "String" },
        ]),
      ),
      md5OfBody: md5Hex(delivery.body),
      eventSource: "aws:sqs",
      eventSourceARN: arn,
      awsRegion,
    })),
  };
}

function systemAttributes(delivery: Delivery): Record<string, string> {
  const { traceHeader, groupId, dedupId = null, movedFrom } = delivery;
  return {
    ApproximateReceiveCount: String(delivery.receiveCount),
    SentTimestamp: String(delivery.sentAt),
    SenderId: SENDER,
    ApproximateFirstReceiveTimestamp: String(delivery.sentAt),
    ...(traceHeader !== null && { AWSTraceHeader: traceHeader }),
    ...(groupId !== null && { MessageGroupId: groupId }),
    ...(dedupId !== null && { MessageDeduplicationId: dedupId }),
    ...(movedFrom !== null && { DeadLetterQueueSourceArn: movedFrom }),
  };
}
