// ChangeMessageVisibility: sets how long a received message stays hidden.

import { refuseWith, succeed } from "../../../../core/result.ts";
import { seconds } from "../../../../core/units.ts";
import { action } from "../../protocol/call.ts";
import { checkNewVisibility, missing } from "../../protocol/parameters.ts";
import { integerShape, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const changeMessageVisibility = action({
  name: "ChangeMessageVisibility",
  input: structureShape({
    QueueUrl: textShape,
    ReceiptHandle: textShape,
    VisibilityTimeout: integerShape,
  }),
  output: null,
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const { ReceiptHandle: handle, VisibilityTimeout: timeout } = input;
    if (!handle) return missing("ReceiptHandle");
    if (timeout === undefined || timeout === null) return missing("VisibilityTimeout");
    const refused = checkNewVisibility(timeout);
    if (refused !== null) return refused;
    const change = { queue, entries: [{ handle, visibilityMs: seconds(timeout) }] };
    const { broker } = call.server;
    const outcome = await broker.submit("changeVisibility", change);
    if (!outcome.ok) return outcome;
    const fault = outcome.value.faults[0]!;
    return fault === null ? succeed(null) : refuseWith(fault);
  },
});
