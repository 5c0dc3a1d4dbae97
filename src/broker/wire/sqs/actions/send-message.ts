// SendMessage: sends one message to a queue.

import { type Result, succeed } from "../../../../core/result.ts";
import type { Fault } from "../../../model/fault.ts";
import type { OperationResult, SendEntry } from "../../../model/operations.ts";
import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { structureShape, textShape, type ValueOf } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";
import {
  inheritedTraceHeader,
  readSendEntry,
  type SendFields,
  sendFields,
  sentChecksums,
  sentFields,
} from "../send-entry.ts";

const output = structureShape(sentFields);

type Sent = ValueOf<typeof output>;

export const sendMessage = action({
  name: "SendMessage",
  input: structureShape({ QueueUrl: textShape, ...sendFields }),
  output,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    if (!input.MessageBody) return missing("MessageBody");
    const read = readSendEntry(input, inheritedTraceHeader(call));
    if (!read.ok) return read;
    const entry = read.value;
    const send = { queue, entries: [entry], batch: false };
    return call.server.broker
      .submit("send", send)
      .then((outcome) => showSent(outcome, entry, input));
  },
  writeJson: writeSent,
});

function showSent(
  outcome: OperationResult<"send">,
  entry: SendEntry,
  input: SendFields,
): Result<Sent, Fault> {
  if (!outcome.ok) return outcome;
  const result = outcome.value.results[0]!;
  if (!result.ok) return result;
  const { messageId, sequenceNumber } = result.value;
  return succeed({
    ...sentChecksums(entry, input),
    MessageId: messageId,
    SequenceNumber: sequenceNumber ?? undefined,
  });
}

/** Hand-written, because its values never need escaping: digests, a UUID and digits. */
function writeSent(sent: Sent): string {
  let json = `{"MD5OfMessageBody":"${sent.MD5OfMessageBody}","MessageId":"${sent.MessageId}"`;
  if (sent.MD5OfMessageAttributes) {
    json += `,"MD5OfMessageAttributes":"${sent.MD5OfMessageAttributes}"`;
  }
  if (sent.MD5OfMessageSystemAttributes) {
    json += `,"MD5OfMessageSystemAttributes":"${sent.MD5OfMessageSystemAttributes}"`;
  }
  if (sent.SequenceNumber) json += `,"SequenceNumber":"${sent.SequenceNumber}"`;
  return `${json}}`;
}
