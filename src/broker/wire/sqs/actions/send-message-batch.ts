// SendMessageBatch: sends up to ten messages to a queue.
//   Entries that the wire refuses never reach the broker. The broker's results for the others are
//   merged with the refusals, so that the response keeps the order of the request.

import { assert } from "../../../../core/assert.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { Fault } from "../../../model/fault.ts";
import type { SendEntry, SentMessage } from "../../../model/operations.ts";
import { action, type RequestCall } from "../../protocol/call.ts";
import { list, structureShape, textShape, type ValueOf } from "../../protocol/shape.ts";
import { checkBatchSize, failures, readBatchIds, reportBatch } from "../batch.ts";
import { queueOf } from "../queue-url.ts";
import {
  inheritedTraceHeader,
  readSendEntry,
  type SendFields,
  sendFields,
  sentChecksums,
  sentFields,
} from "../send-entry.ts";

const ELEMENT = "SendMessageBatchRequestEntry";

const sentEntry = structureShape({ Id: textShape, ...sentFields });

type ReadEntry = Result<SendEntry, Fault>;

export const sendMessageBatch = action({
  name: "SendMessageBatch",
  input: structureShape({
    QueueUrl: textShape,
    Entries: list(ELEMENT, structureShape({ Id: textShape, ...sendFields })),
  }),
  output: structureShape({
    Successful: list("SendMessageBatchResultEntry", sentEntry),
    Failed: failures,
  }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const entries = input.Entries ?? [];
    const checked = readBatchIds(entries, ELEMENT, "MessageBody");
    if (!checked.ok) return checked;
    const ids = checked.value;
    const inherited = inheritedTraceHeader(call);
    const reads = entries.map((entry) => readSendEntry(entry, inherited));
    const oversized = checkBatchSize(totalBytes(entries, reads));
    if (oversized !== null) return oversized;
    const sent = await sendReadable(call, queue, reads);
    if (!sent.ok) return sent;
    const results = sent.value;
    const faults = results.map((result) => (result.ok ? null : result.fault));
    return succeed(
      reportBatch(ids, faults, (i) => showEntry(ids[i], results[i]!, reads[i]!, entries[i]!)),
    );
  },
});

type SentEntry = Result<SentMessage, Fault>;

function showEntry(
  id: string | undefined,
  sent: SentEntry,
  read: ReadEntry,
  input: SendFields,
): ValueOf<typeof sentEntry> {
  assert(sent.ok && read.ok, "only an accepted entry is reported as sent");
  const { messageId, sequenceNumber } = sent.value;
  return {
    Id: id,
    ...sentChecksums(read.value, input),
    MessageId: messageId,
    SequenceNumber: sequenceNumber ?? undefined,
  };
}

/** The results of all entries in the order of the request. */
async function sendReadable(
  call: RequestCall,
  queue: string,
  reads: readonly ReadEntry[],
): Promise<Result<SentEntry[], Fault>> {
  const readable = reads.filter((read) => read.ok);
  const { broker } = call.server;
  if (readable.length === 0) {
    // Nothing to send, but a missing queue takes precedence over refused entries.
    const queueCheck = await broker.submit("findQueue", { queue });
    return queueCheck.ok ? succeed(reads.filter((read) => !read.ok)) : queueCheck;
  }
  const send = { queue, entries: readable.map((read) => read.value), batch: true };
  const outcome = await broker.submit("send", send);
  if (!outcome.ok) return outcome;
  let next = 0;
  return succeed(reads.map((read) => (read.ok ? outcome.value.results[next++]! : read)));
}

/** Refused entries count too, by their bodies: the limit applies to the request. */
function totalBytes(
  entries: readonly Pick<SendFields, "MessageBody">[],
  reads: readonly ReadEntry[],
): number {
  let total = 0;
  for (let i = 0; i < reads.length; i++) {
    const read = reads[i]!;
    total += read.ok ? read.value.sizeBytes : Buffer.byteLength(entries[i]!.MessageBody!);
  }
  return total;
}
