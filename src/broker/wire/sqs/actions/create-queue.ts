// CreateQueue: a new queue, or the one there is if nothing asked for differs.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { checkTags, missing } from "../../protocol/parameters.ts";
import { queueAttributes, structure, tags, text } from "../../protocol/shape.ts";
import { queueUrl } from "../queue-url.ts";

export const createQueue = action({
  name: "CreateQueue",
  input: structure({ QueueName: text, Attributes: queueAttributes, tags }),
  output: structure({ QueueUrl: text }),
  async run(call, input) {
    const name = input.QueueName;
    if (name === undefined || name === null) return missing("QueueName");
    const tags = input.tags ?? {};
    const refused = checkTags(tags);
    if (refused !== null) return refused;
    const create = { name, attributes: input.Attributes ?? {}, tags };
    const outcome = await call.site.broker.submit("createQueue", create);
    return outcome.ok ? done({ QueueUrl: queueUrl(call, outcome.value.name) }) : outcome;
  },
});
