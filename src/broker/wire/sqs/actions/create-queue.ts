// CreateQueue: creates a queue, or returns the existing one if the request does not differ from it.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { checkTags, missing } from "../../protocol/parameters.ts";
import { queueAttributes, structureShape, tags, textShape } from "../../protocol/shape.ts";
import { queueUrl } from "../queue-url.ts";

export const createQueue = action({
  name: "CreateQueue",
  input: structureShape({ QueueName: textShape, Attributes: queueAttributes, tags }),
  output: structureShape({ QueueUrl: textShape }),
  async run(call, input) {
    const name = input.QueueName;
    if (name === undefined || name === null) return missing("QueueName");
    const tags = input.tags ?? {};
    const refused = checkTags(tags);
    if (refused !== null) return refused;
    const create = { name, attributes: input.Attributes ?? {}, tags };
    const outcome = await call.server.broker.submit("createQueue", create);
    return outcome.ok ? succeed({ QueueUrl: queueUrl(call, outcome.value.name) }) : outcome;
  },
});
