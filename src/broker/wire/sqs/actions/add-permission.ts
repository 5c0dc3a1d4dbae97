// AddPermission: allows other accounts to use a queue, by a statement in its policy.

import { action, type RefusedAction } from "../../protocol/call.ts";
import { invalidParameterValue, missing } from "../../protocol/parameters.ts";
import { list, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

const LABEL = /^[A-Za-z0-9_-]{1,80}$/;

export const addPermission = action({
  name: "AddPermission",
  input: structureShape({
    QueueUrl: textShape,
    Label: textShape,
    AWSAccountIds: list("AWSAccountId", textShape),
    Actions: list("ActionName", textShape),
  }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const { Label: label, AWSAccountIds: accounts, Actions: actions } = input;
    if (!label) return missing("Label");
    if (!accounts?.length) return missing("AWSAccountIds");
    if (!actions?.length) return missing("Actions");
    const refused = checkLabel(label);
    if (refused !== null) return refused;
    const permission = { queue, label, accounts: [...accounts], actions: [...actions] };
    return call.server.broker.submit("addPermission", permission);
  },
});

function checkLabel(label: string): RefusedAction | null {
  if (LABEL.test(label)) return null;
  return invalidParameterValue(
    label,
    "Label",
    "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
  );
}
