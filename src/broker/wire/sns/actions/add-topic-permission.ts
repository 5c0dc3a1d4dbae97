// AddPermission (of SNS): lets other accounts use a topic, by a statement in its policy.

import { action } from "../../protocol/call.ts";
import { members, structure, text } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const addTopicPermission = action({
  name: "AddPermission",
  input: structure({
    TopicArn: text,
    Label: text,
    AWSAccountId: members(text),
    ActionName: members(text),
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
    return call.site.broker.submit("addTopicPermission", add);
  },
});
