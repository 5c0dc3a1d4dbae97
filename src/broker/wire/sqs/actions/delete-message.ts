// DeleteMessage: deletes a received message.

import { refuseWith, succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const deleteMessage = action({
  name: "DeleteMessage",
  input: structureShape({ QueueUrl: textShape, ReceiptHandle: textShape }),
  output: null,
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const handle = input.ReceiptHandle;
    if (!handle) return missing("ReceiptHandle");
    const { broker } = call.server;
    const outcome = await broker.submit("delete", { queue, handles: [handle] });
    if (!outcome.ok) return outcome;
    const fault = outcome.value.faults[0]!;
    return fault === null ? succeed(null) : refuseWith(fault);
  },
});
