// DeleteMessageBatch: deletes up to ten received messages.

import { succeed } from "../../../../core/result.ts";
import type { Fault } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { list, structureShape, textShape } from "../../protocol/shape.ts";
import { failures, readBatchIds, reportBatch } from "../batch.ts";
import { queueOf } from "../queue-url.ts";

const ELEMENT = "DeleteMessageBatchRequestEntry";

export const deleteMessageBatch = action({
  name: "DeleteMessageBatch",
  input: structureShape({
    QueueUrl: textShape,
    Entries: list(ELEMENT, structureShape({ Id: textShape, ReceiptHandle: textShape })),
  }),
  output: structureShape({
    Successful: list("DeleteMessageBatchResultEntry", structureShape({ Id: textShape })),
    Failed: failures,
  }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const entries = input.Entries ?? [];
    const checked = readBatchIds(entries, ELEMENT, "ReceiptHandle");
    if (!checked.ok) return checked;
    const ids = checked.value;
    const handles = entries.map((entry) => entry.ReceiptHandle!);
    const { broker } = call.server;
    const outcome = await broker.submit("delete", { queue, handles });
    if (!outcome.ok) return outcome;
    return succeed(reportBatch(ids, outcome.value.faults.map(inBatch), (i) => ({ Id: ids[i] })));
  },
});

/** For an expired handle of a FIFO queue, AWS uses another message here than in DeleteMessage. */
function inBatch(fault: Fault | null): Fault | null {
  if (fault?.name !== "InvalidParameterValue") return fault;
  return { name: "ReceiptHandleIsInvalid", message: "The receipt handle has expired" };
}
