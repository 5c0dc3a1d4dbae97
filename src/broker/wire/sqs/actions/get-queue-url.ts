// GetQueueUrl: from a queue's name to its URL.

import { done, refuse } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { checkOwner, queueUrl } from "../queue-url.ts";

export const getQueueUrl = action({
  name: "GetQueueUrl",
  input: structure({ QueueName: text, QueueOwnerAWSAccountId: text }),
  output: structure({ QueueUrl: text }),
  async run(call, input) {
    const queue = input.QueueName;
    if (!queue) {
      return refuse(
        "InvalidParameterValue",
        "Value for parameter QueueName is invalid. Reason: Must specify a queue name.",
      );
    }
    const refused = checkOwner(call, input.QueueOwnerAWSAccountId);
    if (refused !== null) return refused;
    const outcome = await call.site.broker.submit("findQueue", { queue });
    return outcome.ok ? done({ QueueUrl: queueUrl(call, outcome.value.name) }) : outcome;
  },
});
