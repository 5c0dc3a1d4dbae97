// AddPermission: lets other accounts call a queue, by a statement in its policy.

import { refuse } from "../../model/fault.ts";
import { action, type Refusal } from "../call.ts";
import { invalid, missing } from "../parameters.ts";
import { queueOf } from "../queue-url.ts";
import { list, structure, text } from "../shape.ts";

const ACTIONS_MAX = 7;
const LABEL = /^[A-Za-z0-9_-]{1,80}$/;
const ACCOUNT = /^\d{12}$/;

/** What a queue's owner may let others do. */
const GRANTABLE: ReadonlySet<string> = new Set([
  "*",
  "ChangeMessageVisibility",
  "DeleteMessage",
  "GetQueueAttributes",
  "GetQueueUrl",
  "ListDeadLetterSourceQueues",
  "PurgeQueue",
  "ReceiveMessage",
  "SendMessage",
]);

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
    const refused = checkLabel(label) ?? checkAccounts(accounts) ?? checkActions(actions);
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

function checkAccounts(accounts: readonly string[]): Refusal | null {
  const unknown = accounts.find((account) => !ACCOUNT.test(account));
  return unknown === undefined ? null : invalid(unknown, "PrincipalId", "Unable to verify.");
}

function checkActions(actions: readonly string[]): Refusal | null {
  if (actions.length > ACTIONS_MAX) {
    return refuse(
      "OverLimit",
      `${actions.length} Actions were found, maximum allowed is ${ACTIONS_MAX}.`,
    );
  }
  const unknown = actions.find((name) => !GRANTABLE.has(name));
  if (unknown === undefined) return null;
  return invalid(
    `SQS:${unknown}`,
    "ActionName",
    "Only the queue owner is allowed to invoke this action.",
  );
}
