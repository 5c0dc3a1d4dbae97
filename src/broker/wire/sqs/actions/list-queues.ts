// ListQueues: returns the URLs of all queues with a name prefix, in pages if requested.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { checkPage, page } from "../../protocol/page.ts";
import { integerShape, list, structureShape, textShape } from "../../protocol/shape.ts";
import { queueUrl } from "../queue-url.ts";

export const listQueues = action({
  name: "ListQueues",
  input: structureShape({
    QueueNamePrefix: textShape,
    MaxResults: integerShape,
    NextToken: textShape,
  }),
  output: structureShape({
    QueueUrls: list("QueueUrl", textShape, "queueUrls"),
    NextToken: textShape,
  }),
  async run(call, input) {
    const refused = checkPage(input.MaxResults);
    if (refused !== null) return refused;
    const query = {
      prefix: input.QueueNamePrefix ?? "",
      page: page(input.MaxResults, input.NextToken),
    };
    const outcome = await call.server.broker.submit("listQueues", query);
    if (!outcome.ok) return outcome;
    const { names, nextToken } = outcome.value;
    return succeed({
      QueueUrls: names.length === 0 ? undefined : names.map((name) => queueUrl(call, name)),
      NextToken: nextToken ?? undefined,
    });
  },
});
