// tidegate policy explain: which statement decides whether a key may do something.

import { isObject } from "../../../core/is-object.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, UsageError } from "../../command.ts";
import { readJsonFile } from "../../flags/json-file.ts";
import { requiredFlag } from "../../flags/required-flag.ts";

export const policyExplain = command({
  name: "policy explain",
  summary: "Say which statement decides whether a key may act on a resource, and why.",
  argument: {
    name: "ACTION ARN",
    doc: "Such as sqs:SendMessage and a queue's ARN.",
    repeats: true,
  },
  flags: {
    as: text("KEY", null, "The accessKeyId of the caller (required)."),
    auth: text("FILE", null, "File of keys, as tidegate up reads it (required)."),
    "resource-policy": text("FILE", null, "Policy of the queue, topic or bucket."),
    context: text("FILE", null, "Values of condition keys: a JSON object of texts."),
    json: toggle("Print the decision as JSON."),
  },
  async run({ arguments: [action, resource, ...more], flags, out }) {
    if (action === undefined || resource === undefined || more.length > 0) {
      throw new UsageError(
        "expected an action and an ARN, such as sqs:SendMessage arn:aws:sqs:...",
      );
    }
    if (!/^\w+:\w+$/.test(action)) {
      throw new UsageError(`"${action}" is not an action; expected one such as sqs:SendMessage`);
    }
    if (!/^arn:aws:[a-z0-9]+:[^:]*:[^:]*:.+$/.test(resource)) {
      throw new UsageError(`"${resource}" is not the ARN of a resource`);
    }
    const accessKeyId = requiredFlag(flags.as, "as");
    const auth = readJsonFile(requiredFlag(flags.auth, "auth"), "auth");
    const path = flags["resource-policy"];
    const { explainAccess } = await import("../../../cloud/explain-access.ts");
    const explained = explainAccess({
      auth: auth as unknown as Parameters<typeof explainAccess>[0]["auth"],
      accessKeyId,
      action,
      resource,
      resourcePolicy:
        path === undefined ? undefined : JSON.stringify(readJsonFile(path, "resource-policy")),
      context: contextOf(flags.context),
    });
    out.line(flags.json ? JSON.stringify(explained) : explained.reason);
    return explained.allowed ? EXIT_OK : EXIT_FAILED;
  },
});

function contextOf(path: string | undefined): Readonly<Record<string, string>> | undefined {
  if (path === undefined) return undefined;
  const value = readJsonFile(path, "context");
  if (isObject(value) && Object.values(value).every((each) => typeof each === "string")) {
    return value as Readonly<Record<string, string>>;
  }
  throw new UsageError(`--context: ${path} is not an object of texts`);
}
