// AddPermission: lets other accounts call a queue, by a statement in its policy.

import { action, type Refusal } from "../../protocol/call.ts";
import { invalid, missing } from "../../protocol/parameters.ts";
import { list, structure, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

const LABEL = /^[A-Za-z0-9_-]{1,80}$/;

export const addPermission = action({
  name: "AddPermission",
  input: structure({
    QueueUrl: text,
    Label: text,
    AWSAccountIds: list("AWSAccountId", text),
    Actions: list("ActionName", text),
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
    return call.site.broker.submit("addPermission", permission);
  },
});

function checkLabel(label: string): Refusal | null {
  if (LABEL.test(label)) return null;
  return invalid(
    label,
    "Label",
    "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
  );
}
