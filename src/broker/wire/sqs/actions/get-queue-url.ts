// GetQueueUrl: returns the URL of a queue by its name.

import { succeed } from "../../../../core/result.ts";
import { refuse } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { checkOwner, queueUrl } from "../queue-url.ts";

export const getQueueUrl = action({
  name: "GetQueueUrl",
  input: structureShape({ QueueName: textShape, QueueOwnerAWSAccountId: textShape }),
  output: structureShape({ QueueUrl: textShape }),
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
    const outcome = await call.server.broker.submit("findQueue", { queue });
    return outcome.ok ? succeed({ QueueUrl: queueUrl(call, outcome.value.name) }) : outcome;
  },
});
