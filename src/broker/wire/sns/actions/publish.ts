// Publish: sends one message to all subscribers of a topic.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { origin } from "../../sqs/queue-url.ts";
import { inheritedTraceHeader } from "../../sqs/send-entry.ts";
import { publishFields, readPublishEntry } from "../publish-entry.ts";
import { invalidSnsParameter, topicOf } from "../sns-request.ts";

export const publish = action({
  name: "Publish",
  input: structureShape({
    TopicArn: textShape,
    TargetArn: textShape,
    PhoneNumber: textShape,
    ...publishFields,
  }),
  output: structureShape({ MessageId: textShape, SequenceNumber: textShape }),
  async run(call, input) {
    if (input.PhoneNumber) {
      return invalidSnsParameter("PhoneNumber Reason: this server does not send text messages");
    }
    const read = readPublishEntry(input, "");
    if (!read.ok) return read;
    const { TargetArn: target } = input;
    if (target?.includes(":endpoint/")) {
      return invalidSnsParameter(
        "TargetArn Reason: No endpoint found for the target arn specified",
      );
    }
    const topic = topicOf(call, input.TopicArn ?? target);
    if (typeof topic !== "string") return topic;
    const outcome = await call.server.broker.submit("publish", {
      topic,
      entries: [read.value],
      batch: false,
      origin: origin(call),
      traceHeader: inheritedTraceHeader(call),
    });
    if (!outcome.ok) return outcome;
    const only = outcome.value.results[0]!;
    if (!only.ok) return only;
    const { messageId, sequenceNumber } = only.value;
    return succeed({ MessageId: messageId, SequenceNumber: sequenceNumber });
  },
});
