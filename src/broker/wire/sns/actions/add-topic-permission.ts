// AddPermission (SNS): allows other accounts to use a topic, by a statement in its policy.

import { action } from "../../protocol/call.ts";
import { members, structureShape, textShape } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const addTopicPermission = action({
  name: "AddPermission",
  input: structureShape({
    TopicArn: textShape,
    Label: textShape,
    AWSAccountId: members(textShape),
    ActionName: members(textShape),
  }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { Label: label, AWSAccountId: accounts, ActionName: actions } = input;
    if (!label) return absent("label");
    if (!accounts?.length) return absent("aWSAccountId");
    if (!actions?.length) return absent("actionName");
    const add = { topic, label, accounts: [...accounts], actions: [...actions] };
    return call.server.broker.submit("addTopicPermission", add);
  },
});
