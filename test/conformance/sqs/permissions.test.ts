import { expect, test } from "vitest";
import { ACCOUNT, arnOf, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();
const OTHER = "111122223333";

const policyOf = async (url: string) =>
  JSON.parse((await endpoint.attribute(url, "Policy")) ?? "null");

const add = (QueueUrl: string, Label: string, AWSAccountIds: string[], Actions: string[]) =>
  endpoint.sqs.addPermission({ QueueUrl, Label, AWSAccountIds, Actions });

test("[37] a permission is a statement of the queue's policy; a single value is not a list", async () => {
  const url = await endpoint.queue();
  await add(url, "crossaccount", [OTHER], ["ReceiveMessage"]);
  const statement = {
    Sid: "crossaccount",
    Effect: "Allow",
    Principal: { AWS: `arn:aws:iam::${OTHER}:root` },
    Action: "SQS:ReceiveMessage",
    Resource: arnOf(url),
  };
  const policy = {
    Version: "2008-10-17",
    Id: `${arnOf(url)}/SQSDefaultPolicy`,
    Statement: [statement],
  };
  expect(await policyOf(url)).toEqual(policy);
  await add(url, "more", [ACCOUNT, OTHER], ["SendMessage", "*"]);
  const more = {
    ...statement,
    Sid: "more",
    Principal: { AWS: [`arn:aws:iam::${ACCOUNT}:root`, `arn:aws:iam::${OTHER}:root`] },
    Action: ["SQS:SendMessage", "SQS:*"],
  };
  expect(await policyOf(url)).toEqual({ ...policy, Statement: [statement, more] });
});

test("[37] a label must be new when added and exist when removed", async () => {
  const QueueUrl = await endpoint.queue();
  await add(QueueUrl, "label", [OTHER], ["SendMessage"]);
  expect(await failureOf(add(QueueUrl, "label", [OTHER], ["SendMessage"]))).toMatchObject({
    code: "InvalidParameterValue",
    message: "Value label for parameter Label is invalid. Reason: Already exists.",
  });
  const remove = (Label: string) => endpoint.sqs.removePermission({ QueueUrl, Label });
  expect(await failureOf(remove("other"))).toMatchObject({
    code: "InvalidParameterValue",
    message: "Value other for parameter Label is invalid. Reason: can't find label.",
  });
});

test("[37] removing the last statement removes the policy", async () => {
  const QueueUrl = await endpoint.queue();
  await add(QueueUrl, "one", [OTHER], ["SendMessage"]);
  await add(QueueUrl, "two", [OTHER], ["SendMessage"]);
  await endpoint.sqs.removePermission({ QueueUrl, Label: "one" });
  expect((await policyOf(QueueUrl)).Statement).toMatchObject([{ Sid: "two" }]);
  await endpoint.sqs.removePermission({ QueueUrl, Label: "two" });
  expect(await endpoint.attribute(QueueUrl, "Policy")).toBeUndefined();
});

test("[37] more than seven actions are over the limit; seven are not", async () => {
  const QueueUrl = await endpoint.queue();
  const actions = [
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
  ];
  const failure = await failureOf(add(QueueUrl, "all", [OTHER], actions));
  expect(failure).toMatchObject({ code: "OverLimit", status: 403 });
  await add(QueueUrl, "most", [OTHER], actions.slice(1));
  expect((await policyOf(QueueUrl)).Statement[0].Action).toHaveLength(7);
});
