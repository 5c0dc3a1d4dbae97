import { expect, test } from "vitest";
import { ACCOUNT, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();
const OTHER = "111122223333";

test("[18] the path of a queue's URL has the 12-digit account and the queue's name", async () => {
  const url = await endpoint.queue();
  expect(new URL(url).pathname).toMatch(/^\/\d{12}\/queue-\d+$/);
});

test("[18] a queue of another account is refused by every action", async () => {
  const QueueUrl = (await endpoint.queue()).replace(ACCOUNT, OTHER);
  const calls = [
    endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x" }),
    endpoint.sqs.receiveMessage({ QueueUrl }),
    endpoint.sqs.addPermission({
      QueueUrl,
      Label: "l",
      AWSAccountIds: [OTHER],
      Actions: ["SendMessage"],
    }),
    endpoint.sqs.removePermission({ QueueUrl, Label: "l" }),
    endpoint.sqs.deleteQueue({ QueueUrl }),
    endpoint.sqs.listQueueTags({ QueueUrl }),
    endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: "1" } }),
    endpoint.sqs.tagQueue({ QueueUrl, Tags: { a: "b" } }),
    endpoint.sqs.untagQueue({ QueueUrl, TagKeys: ["a"] }),
  ];
  for (const call of calls) {
    expect(await failureOf(call)).toMatchObject({ shape: "QueueDoesNotExist", status: 400 });
  }
});

test("[18] GetQueueUrl accepts the own account as owner and refuses any other", async () => {
  const url = await endpoint.queue();
  const QueueName = url.split("/").at(-1)!;
  const ask = (QueueOwnerAWSAccountId: string) =>
    endpoint.sqs.getQueueUrl({ QueueName, QueueOwnerAWSAccountId });
  expect((await ask(ACCOUNT)).QueueUrl).toBe(url);
  expect((await failureOf(ask(OTHER))).shape).toBe("QueueDoesNotExist");
});

test("[8] without keys, credentials are not checked, as the page of differences states", async () => {
  const { sqs } = endpoint;
  expect((await sqs.listQueues()).$metadata.httpStatusCode).toBe(200); // Signed with any key.
  expect((await endpoint.json("ListQueues", {})).status).toBe(200); // Not signed at all.
  const headers = { authorization: "AWS4-HMAC-SHA256 malformed" };
  expect((await endpoint.json("ListQueues", {}, { headers })).status).toBe(200);
});
