// GetQueueAttributes: returns the requested settings and counts of a queue.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { list, queueAttributes, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const getQueueAttributes = action({
  name: "GetQueueAttributes",
  input: structureShape({ QueueUrl: textShape, AttributeNames: list("AttributeName", textShape) }),
  output: structureShape({ Attributes: queueAttributes }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const get = { queue, names: [...(input.AttributeNames ?? [])] };
    const outcome = await call.server.broker.submit("getQueueAttributes", get);
    if (!outcome.ok) return outcome;
    const { attributes } = outcome.value;
    return succeed(Object.keys(attributes).length === 0 ? {} : { Attributes: attributes });
  },
});
