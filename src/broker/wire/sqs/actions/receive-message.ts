// ReceiveMessage: receives messages from a queue, with long polling if requested.

import { SQS_RECEIVE_MESSAGES_MAX, SQS_RECEIVE_WAIT_MS_MAX } from "../../../../core/limits.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import { seconds } from "../../../../core/units.ts";
import type { Fault } from "../../../model/fault.ts";
import { action, type RefusedAction, type RequestCall } from "../../protocol/call.ts";
import { checkOrderingId, checkRange, VISIBILITY_SECONDS_MAX } from "../../protocol/parameters.ts";
import {
  integerShape,
  list,
  structureShape,
  textShape,
  type ValueOf,
} from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";
import {
  attributeFilter,
  receivedMessage,
  showDelivery,
  systemAttributeNames,
} from "../received-message.ts";

const WAIT_SECONDS_MAX = SQS_RECEIVE_WAIT_MS_MAX / 1_000;

const input = structureShape({
  QueueUrl: textShape,
  AttributeNames: list("AttributeName", textShape),
  MessageSystemAttributeNames: list("MessageSystemAttributeName", textShape),
  MessageAttributeNames: list("MessageAttributeName", textShape),
  MaxNumberOfMessages: integerShape,
  VisibilityTimeout: integerShape,
  WaitTimeSeconds: integerShape,
  ReceiveRequestAttemptId: textShape,
});

const output = structureShape({ Messages: list("Message", receivedMessage, "messages") });

type Input = ValueOf<typeof input>;

export const receiveMessage = action({
  name: "ReceiveMessage",
  input,
  output,
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const refused = checkNumbers(input);
    if (refused !== null) return refused;
    const names = wantedNames(call, input);
    if (!names.ok) return names;
    const { VisibilityTimeout: visibility, WaitTimeSeconds: wait } = input;
    const receive = {
      queue,
      max: input.MaxNumberOfMessages ?? 1,
      waitMs: wait === undefined || wait === null ? null : seconds(wait),
      visibilityMs: visibility === undefined || visibility === null ? null : seconds(visibility),
      attemptId: input.ReceiveRequestAttemptId ?? null,
    };
    // A signal is expensive to create, and only a receive that may wait needs it.
    const signal = receive.waitMs === 0 ? undefined : call.request.signal;
    const outcome = await call.server.broker.submit("receive", receive, signal);
    if (!outcome.ok) return outcome;
    const { deliveries } = outcome.value;
    if (deliveries.length === 0) return succeed({});
    const filter = attributeFilter(input.MessageAttributeNames);
    const { userId: senderId } = call.caller;
    return succeed({
      Messages: deliveries.map((delivery) => showDelivery(delivery, names.value, filter, senderId)),
    });
  },
  writeJson: writeReceived,
});

/** Hand-written for the values that never need escaping: a UUID, base64 and a digest. */
function writeReceived({ Messages: messages }: ValueOf<typeof output>): string {
  if (messages === undefined || messages === null) return "{}";
  return `{"Messages":[${messages.map(writeMessage).join(",")}]}`;
}

function writeMessage(message: ReturnType<typeof showDelivery>): string {
  const { Attributes, MD5OfMessageAttributes, MessageAttributes } = message;
  const json =
    `{"MessageId":"${message.MessageId}","ReceiptHandle":"${message.ReceiptHandle}"` +
    `,"MD5OfBody":"${message.MD5OfBody}","Body":${JSON.stringify(message.Body)}`;
  if (Attributes === undefined && MessageAttributes === undefined) return `${json}}`;
  const more = JSON.stringify({ Attributes, MD5OfMessageAttributes, MessageAttributes });
  return `${json},${more.slice(1)}`;
}

/** The JSON protocol merges both lists of names; in the query protocol the older list wins. */
function wantedNames(call: RequestCall, input: Input): Result<readonly string[], Fault> {
  const { AttributeNames: older, MessageSystemAttributeNames: newer } = input;
  const both = call.protocol === "json" || !older?.length;
  return systemAttributeNames(older, both ? newer : null);
}

function checkNumbers(input: Input): RefusedAction | null {
  return (
    checkRange(
      input.MaxNumberOfMessages,
      "MaxNumberOfMessages",
      1,
      SQS_RECEIVE_MESSAGES_MAX,
      `Must be between 1 and ${SQS_RECEIVE_MESSAGES_MAX}, if provided.`,
    ) ??
    checkRange(
      input.WaitTimeSeconds,
      "WaitTimeSeconds",
      0,
      WAIT_SECONDS_MAX,
      `Must be >= 0 and <= ${WAIT_SECONDS_MAX}, if provided.`,
    ) ??
    checkRange(
      input.VisibilityTimeout,
      "VisibilityTimeout",
      0,
      VISIBILITY_SECONDS_MAX,
      `Must be >= 0 and <= ${VISIBILITY_SECONDS_MAX}, if provided.`,
    ) ??
    checkOrderingId(input.ReceiveRequestAttemptId, "ReceiveRequestAttemptId")
  );
}
