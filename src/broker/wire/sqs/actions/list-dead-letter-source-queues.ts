// ListDeadLetterSourceQueues: returns the URLs of the queues whose dead-letter queue is this one.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { checkPage, page } from "../../protocol/page.ts";
import { integerShape, list, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf, queueUrl } from "../queue-url.ts";

export const listDeadLetterSourceQueues = action({
  name: "ListDeadLetterSourceQueues",
  input: structureShape({ QueueUrl: textShape, MaxResults: integerShape, NextToken: textShape }),
  output: structureShape({ queueUrls: list("QueueUrl", textShape), NextToken: textShape }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const refused = checkPage(input.MaxResults);
    if (refused !== null) return refused;
    const query = { queue, page: page(input.MaxResults, input.NextToken) };
    const { broker } = call.server;
    const outcome = await broker.submit("listDeadLetterSources", query);
    if (!outcome.ok) return outcome;
    const { names, nextToken } = outcome.value;
    return succeed({
      queueUrls: names.length === 0 ? undefined : names.map((name) => queueUrl(call, name)),
      NextToken: nextToken ?? undefined,
    });
  },
});
