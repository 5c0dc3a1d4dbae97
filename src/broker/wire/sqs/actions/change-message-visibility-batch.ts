// ChangeMessageVisibilityBatch: sets how long up to ten received messages stay hidden.

import { type Result, succeed } from "../../../../core/result.ts";
import { seconds } from "../../../../core/units.ts";
import type { Fault } from "../../../model/fault.ts";
import type { VisibilityEntry } from "../../../model/operations.ts";
import { action, type RequestCall } from "../../protocol/call.ts";
import { checkNewVisibility, missing } from "../../protocol/parameters.ts";
import { integerShape, list, structureShape, textShape } from "../../protocol/shape.ts";
import { failures, readBatchIds, reportBatch } from "../batch.ts";
import { queueOf } from "../queue-url.ts";

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
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const entries = input.Entries ?? [];
    const checked = readBatchIds(entries, ELEMENT, "ReceiptHandle");
    if (!checked.ok) return checked;
    const ids = checked.value;
    const reads = entries.map((entry) => readChange(entry.ReceiptHandle!, entry.VisibilityTimeout));
    const faults = await change(call, queue, reads);
    if (!faults.ok) return faults;
    return succeed(reportBatch(ids, faults.value, (i) => ({ Id: ids[i] })));
  },
});

function readChange(
  handle: string,
  timeout: number | null | undefined,
): Result<VisibilityEntry, Fault> {
  if (timeout === undefined || timeout === null) return missing("VisibilityTimeout");
  return checkNewVisibility(timeout) ?? succeed({ handle, visibilityMs: seconds(timeout) });
}

/** The result of each change, in the order of the request. */
async function change(
  call: RequestCall,
  queue: string,
  reads: readonly Result<VisibilityEntry, Fault>[],
): Promise<Result<(Fault | null)[], Fault>> {
  const entries = reads.filter((read) => read.ok).map((read) => read.value);
  const { broker } = call.server;
  const outcome = await broker.submit("changeVisibility", { queue, entries });
  if (!outcome.ok) return outcome;
  let next = 0;
  return succeed(reads.map((read) => (read.ok ? outcome.value.faults[next++]! : read.fault)));
}
