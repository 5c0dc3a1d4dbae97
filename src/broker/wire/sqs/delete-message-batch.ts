// DeleteMessageBatch: the receiver is done with up to ten messages.

import { done, type Fault } from "../../model/fault.ts";
import { checkBatch, checkEntries, failures, reportBatch } from "../batch.ts";
import { action } from "../call.ts";
import { queueOf } from "../queue-url.ts";
import { list, structure, text } from "../shape.ts";

const ELEMENT = "DeleteMessageBatchRequestEntry";

export const deleteMessageBatch = action({
  name: "DeleteMessageBatch",
  input: structure({
    QueueUrl: text,
    Entries: list(ELEMENT, structure({ Id: text, ReceiptHandle: text })),
  }),
  output: structure({
    Successful: list("DeleteMessageBatchResultEntry", structure({ Id: text })),
    Failed: failures,
  }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const entries = input.Entries ?? [];
    const refused = checkBatch(entries, ELEMENT) ?? checkEntries(entries, ELEMENT, "ReceiptHandle");
    if (refused !== null) return refused;
    const handles = entries.map((entry) => entry.ReceiptHandle!);
    const { broker } = call.site;
    const outcome = await broker.submit("delete", { queue, handles });
    if (!outcome.ok) return outcome;
    const ids = entries.map((entry) => entry.Id!);
    return done(reportBatch(ids, outcome.value.faults.map(inBatch), (i) => ({ Id: ids[i] })));
  },
});

/** AWS words a handle whose time is over, on a FIFO queue, otherwise here than for one message. */
function inBatch(fault: Fault | null): Fault | null {
  if (fault?.name !== "InvalidParameterValue") return fault;
  return { name: "ReceiptHandleIsInvalid", message: "The receipt handle has expired" };
}
