// ListTopics: the topics there are, a hundred at a time.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { members, structure, text } from "../../protocol/shape.ts";
import { topicArn } from "../sns-request.ts";

export const listTopics = action({
  name: "ListTopics",
  input: structure({ NextToken: text }),
  output: structure({ Topics: members(structure({ TopicArn: text })), NextToken: text }),
  async run(call, input) {
    const list = { token: input.NextToken || null };
    const outcome = await call.site.broker.submit("listTopics", list, call.request.signal);
    if (!outcome.ok) return outcome;
    const { names, nextToken } = outcome.value;
    return done({
      Topics: names.map((name) => ({ TopicArn: topicArn(call, name) })),
      NextToken: nextToken,
    });
  },
});
