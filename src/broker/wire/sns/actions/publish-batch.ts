// PublishBatch: sends up to ten messages to all subscribers of a topic.
//   As observed on AWS, one invalid entry fails the whole batch.

import { SNS_BATCH_ENTRIES_MAX } from "../../../../core/limits.ts";
import { succeed } from "../../../../core/result.ts";
import { refuse } from "../../../model/fault.ts";
import type { PublishEntry } from "../../../model/sns/topic-operations-contract.ts";
import { action, type RefusedAction } from "../../protocol/call.ts";
import { booleanShape, members, structureShape, textShape } from "../../protocol/shape.ts";
import { reportBatch } from "../../sqs/batch.ts";
import { origin } from "../../sqs/queue-url.ts";
import { inheritedTraceHeader } from "../../sqs/send-entry.ts";
import { publishFields, readPublishEntry } from "../publish-entry.ts";
import { absent, topicOf } from "../sns-request.ts";

const ID_CHARS_MAX = 80;

export const publishBatch = action({
  name: "PublishBatch",
  input: structureShape({
    TopicArn: textShape,
    PublishBatchRequestEntries: members(structureShape({ Id: textShape, ...publishFields })),
  }),
  output: structureShape({
    Successful: members(
      structureShape({ Id: textShape, MessageId: textShape, SequenceNumber: textShape }),
    ),
    Failed: members(
      structureShape({
        Id: textShape,
        Code: textShape,
        Message: textShape,
        SenderFault: booleanShape,
      }),
    ),
  }),
  async run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const requested = input.PublishBatchRequestEntries ?? [];
    const ids = requested.map(({ Id: id }) => id ?? "");
    const refused = checkIds(ids);
    if (refused !== null) return refused;
    const entries: PublishEntry[] = [];
    for (const [index, entry] of requested.entries()) {
      const read = readPublishEntry(entry, `publishBatchRequestEntries.${index + 1}.member.`);
      if (!read.ok) return read;
      entries.push(read.value);
    }
    const outcome = await call.server.broker.submit("publish", {
      topic,
      entries,
      batch: true,
      origin: origin(call),
      traceHeader: inheritedTraceHeader(call),
    });
    if (!outcome.ok) return outcome;
    const { results } = outcome.value;
    const faults = results.map((result) => (result.ok ? null : result.fault));
    const { Successful: successful, Failed: failed } = reportBatch(ids, faults, (index) => {
      const result = results[index]!;
      if (!result.ok) return {};
      const { messageId, sequenceNumber } = result.value;
      return { Id: ids[index], MessageId: messageId, SequenceNumber: sequenceNumber };
    });
    // SNS returns both lists, even if they are empty.
    return succeed({ Successful: successful ?? [], Failed: failed ?? [] });
  },
});

function checkIds(ids: readonly string[]): RefusedAction | null {
  if (ids.length === 0) {
    return refuse("EmptyBatchRequest", "The batch request doesn't contain any entries.");
  }
  if (ids.length > SNS_BATCH_ENTRIES_MAX) {
    return refuse(
      "TooManyEntriesInBatchRequest",
      "The batch request contains more entries than permissible.",
    );
  }
  for (const [index, id] of ids.entries()) {
    if (id === "") return absent(`publishBatchRequestEntries.${index + 1}.member.id`);
    if (id.length > ID_CHARS_MAX) {
      const text = `The Id of a batch entry in the batch request is too long: ${id.slice(0, 256)}`;
      return refuse("InvalidBatchEntryId", text);
    }
    if (!/^[A-Za-z0-9_-]+$/.test(id)) {
      return refuse(
        "InvalidBatchEntryId",
        `The Id of a batch entry in the batch request contains an impermissible character: ${id}`,
      );
    }
  }
  if (new Set(ids).size === ids.length) return null;
  return refuse(
    "BatchEntryIdsNotDistinct",
    "Two or more batch entries in the request have the same Id.",
  );
}
