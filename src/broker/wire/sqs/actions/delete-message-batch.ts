// DeleteMessageBatch: deletes up to ten received messages.

import { type Fault, succeed } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { list, structureShape, textShape } from "../../protocol/shape.ts";
import { failures, openBatch, reportBatch } from "../batch.ts";

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
    const batch = openBatch(call, input, ELEMENT, "ReceiptHandle");
    if (!batch.ok) return batch;
    const { queue, entries, ids } = batch;
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
