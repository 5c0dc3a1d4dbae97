// ListDeadLetterSourceQueues: the URLs of the queues that send their dead letters to this one.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { checkPage, page } from "../../protocol/page.ts";
import { integer, list, structure, text } from "../../protocol/shape.ts";
import { queueOf, queueUrl } from "../queue-url.ts";

export const listDeadLetterSourceQueues = action({
  name: "ListDeadLetterSourceQueues",
  input: structure({ QueueUrl: text, MaxResults: integer, NextToken: text }),
  output: structure({ queueUrls: list("QueueUrl", text), NextToken: text }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const refused = checkPage(input.MaxResults);
    if (refused !== null) return refused;
    const query = { queue, page: page(input.MaxResults, input.NextToken) };
    const { broker } = call.site;
    const outcome = await broker.submit("listDeadLetterSources", query);
    if (!outcome.ok) return outcome;
    const { names, nextToken } = outcome.value;
    return done({
      queueUrls: names.length === 0 ? undefined : names.map((name) => queueUrl(call, name)),
      NextToken: nextToken ?? undefined,
    });
  },
});
