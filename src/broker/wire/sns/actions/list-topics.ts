// ListTopics: returns all topics, 100 per page.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { members, structureShape, textShape } from "../../protocol/shape.ts";
import { topicArnOf } from "../sns-request.ts";

export const listTopics = action({
  name: "ListTopics",
  input: structureShape({ NextToken: textShape }),
  output: structureShape({
    Topics: members(structureShape({ TopicArn: textShape })),
    NextToken: textShape,
  }),
  async run(call, input) {
    const list = { token: input.NextToken || null };
    const outcome = await call.server.broker.submit("listTopics", list, call.request.signal);
    if (!outcome.ok) return outcome;
    const { names, nextToken } = outcome.value;
    return succeed({
      Topics: names.map((name) => ({ TopicArn: topicArnOf(call, name) })),
      NextToken: nextToken,
    });
  },
});
