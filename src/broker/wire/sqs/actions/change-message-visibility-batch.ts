// ChangeMessageVisibilityBatch: sets how long up to ten received messages stay hidden.

import { seconds } from "../../../../core/units.ts";
import { type Fault, succeed } from "../../../model/fault.ts";
import type { VisibilityEntry } from "../../../model/operations.ts";
import { action, type RefusedAction, type RequestCall } from "../../protocol/call.ts";
import { checkNewVisibility, missing } from "../../protocol/parameters.ts";
import { integerShape, list, structureShape, textShape } from "../../protocol/shape.ts";
import { failures, openBatch, reportBatch } from "../batch.ts";

const ELEMENT = "ChangeMessageVisibilityBatchRequestEntry";

export const changeMessageVisibilityBatch = action({
  name: "ChangeMessageVisibilityBatch",
  input: structureShape({
    QueueUrl: textShape,
    Entries: list(
      ELEMENT,
      structureShape({ Id: textShape, ReceiptHandle: textShape, VisibilityTimeout: integerShape }),
    ),
  }),
  output: structureShape({
    Successful: list("ChangeMessageVisibilityBatchResultEntry", structureShape({ Id: textShape })),
    Failed: failures,
  }),
  async run(call, input) {
    const batch = openBatch(call, input, ELEMENT, "ReceiptHandle");
    if (!batch.ok) return batch;
    const { queue, entries, ids } = batch;
    const reads = entries.map((entry) => readChange(entry.ReceiptHandle!, entry.VisibilityTimeout));
    const faults = await change(call, queue, reads);
    if ("ok" in faults) return faults;
    return succeed(reportBatch(ids, faults, (i) => ({ Id: ids[i] })));
  },
});

function readChange(
  handle: string,
  timeout: number | null | undefined,
): VisibilityEntry | RefusedAction {
  if (timeout === undefined || timeout === null) return missing("VisibilityTimeout");
  return checkNewVisibility(timeout) ?? { handle, visibilityMs: seconds(timeout) };
}

/** The result of each change, in the order of the request. */
async function change(
  call: RequestCall,
  queue: string,
  reads: readonly (VisibilityEntry | RefusedAction)[],
): Promise<(Fault | null)[] | RefusedAction> {
  const entries = reads.filter((read) => "handle" in read);
  const { broker } = call.server;
  const outcome = await broker.submit("changeVisibility", { queue, entries });
  if (!outcome.ok) return outcome;
  let next = 0;
  return reads.map((read) => ("handle" in read ? outcome.value.faults[next++]! : read.fault));
}
