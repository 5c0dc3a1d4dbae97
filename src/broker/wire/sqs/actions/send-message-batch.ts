// SendMessageBatch: sends up to ten messages to a queue.
//   Entries that the wire refuses never reach the broker. The broker's results for the others are
//   merged with the refusals, so that the response keeps the order of the request.

import { type Fault, succeed } from "../../../model/fault.ts";
import type { SentMessage } from "../../../model/operations.ts";
import { action, type RefusedAction, type RequestCall } from "../../protocol/call.ts";
import { list, structureShape, textShape } from "../../protocol/shape.ts";
import { checkBatchSize, failures, openBatch, reportBatch } from "../batch.ts";
import {
  inheritedTraceHeader,
  type ReadEntry,
  readSendEntry,
  type SendFields,
  sendFields,
  sentChecksums,
  sentFields,
} from "../send-entry.ts";

const ELEMENT = "SendMessageBatchRequestEntry";

export const sendMessageBatch = action({
  name: "SendMessageBatch",
  input: structureShape({
    QueueUrl: textShape,
    Entries: list(ELEMENT, structureShape({ Id: textShape, ...sendFields })),
  }),
  output: structureShape({
    Successful: list(
      "SendMessageBatchResultEntry",
      structureShape({ Id: textShape, ...sentFields }),
    ),
    Failed: failures,
  }),
  async run(call, input) {
    const batch = openBatch(call, input, ELEMENT, "MessageBody");
    if (!batch.ok) return batch;
    const { queue, entries, ids } = batch;
    const inherited = inheritedTraceHeader(call);
    const reads = entries.map((entry) => readSendEntry(entry, inherited));
    const oversized = checkBatchSize(totalBytes(entries, reads));
    if (oversized !== null) return oversized;
    const sent = await sendReadable(call, queue, reads);
    if (!sent.ok) return sent;
    return succeed(
      reportBatch(ids, sent.faults, (i) => ({
        Id: ids[i],
        ...sentChecksums(reads[i] as ReadEntry),
        MessageId: sent.messages[i]!.messageId,
        SequenceNumber: sent.messages[i]!.sequenceNumber ?? undefined,
      })),
    );
  },
});

interface SentBatch {
  readonly ok: true;
  /** By position in the request. */
  readonly faults: (Fault | null)[];
  readonly messages: (SentMessage | null)[];
}

async function sendReadable(
  call: RequestCall,
  queue: string,
  reads: readonly (ReadEntry | RefusedAction)[],
): Promise<SentBatch | RefusedAction> {
  const faults: (Fault | null)[] = reads.map((read) => (read.ok ? null : read.fault));
  const messages: (SentMessage | null)[] = reads.map(() => null);
  const readable = reads.filter((read) => read.ok);
  const { broker } = call.server;
  if (readable.length === 0) {
    // Nothing to send, but a missing queue takes precedence over refused entries.
    const queueCheck = await broker.submit("findQueue", { queue });
    return queueCheck.ok ? { ok: true, faults, messages } : queueCheck;
  }
  const send = { queue, entries: readable.map((read) => read.entry), batch: true };
  const outcome = await broker.submit("send", send);
  if (!outcome.ok) return outcome;
  let next = 0;
  for (let i = 0; i < reads.length; i++) {
    if (!reads[i]!.ok) continue;
    const result = outcome.value.results[next++]!;
    if (result.ok) messages[i] = result.value;
    else faults[i] = result.fault;
  }
  return { ok: true, faults, messages };
}

/** Refused entries count too, by their bodies: the limit applies to the request. */
function totalBytes(
  entries: readonly Pick<SendFields, "MessageBody">[],
  reads: readonly (ReadEntry | RefusedAction)[],
): number {
  let total = 0;
  for (let i = 0; i < reads.length; i++) {
    const read = reads[i]!;
    total += read.ok ? read.entry.sizeBytes : Buffer.byteLength(entries[i]!.MessageBody!);
  }
  return total;
}
