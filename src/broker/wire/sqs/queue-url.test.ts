import { describe, expect, test } from "vitest";
import { ACCOUNT, createWire } from "../../../../test/support/scripted-broker.ts";

describe("a queue is found", () => {
  test.each([
    ["by the URL that CreateQueue returned", `http://localhost:4566/${ACCOUNT}/q`],
    ["under any host", `https://broker.internal/${ACCOUNT}/q`],
    ["below a longer path", `http://h/queue/us-east-1/${ACCOUNT}/q`],
    ["by a path alone", `/${ACCOUNT}/q`],
    ["by its bare name", "q"],
    ["by its name on a host", "http://localhost:4566/q"],
    ["by a URL with a query string", `http://h/${ACCOUNT}/q?a=/b`],
  ])("%s", async (_, QueueUrl) => {
    const wire = createWire();
    expect((await wire.json("PurgeQueue", { QueueUrl })).status).toBe(200);
    expect(wire.asked).toEqual([{ name: "purgeQueue", input: { queue: "q" } }]);
  });
});

describe("a queue does not exist", () => {
  test.each([
    ["if no URL was given", undefined, "The specified queue does not exist."],
    ["if the URL is null", null, "The specified queue does not exist."],
    ["if the URL is empty", "", "The specified queue does not exist."],
    ["if the URL has no name", `http://h/${ACCOUNT}/`, "The specified queue does not exist."],
    [
      "if it belongs to another account",
      "http://h/999999999999/q",
      "The specified queue does not exist or you do not have access to it.",
    ],
  ])("%s", async (_, QueueUrl, message) => {
    const wire = createWire();
    const reply = await wire.json("SendMessage", { QueueUrl, MessageBody: "x" });
    expect(reply.status).toBe(400);
    expect(reply.value).toEqual({ __type: "com.amazonaws.sqs#QueueDoesNotExist", message });
    expect(wire.asked).toEqual([]);
  });

  test("for GetQueueUrl if it belongs to another account", async () => {
    const input = { QueueName: "q", QueueOwnerAWSAccountId: "999999999999" };
    const reply = await createWire().json("GetQueueUrl", input);
    expect(reply.value.__type).toBe("com.amazonaws.sqs#QueueDoesNotExist");
    const own = await createWire().json("GetQueueUrl", {
      ...input,
      QueueOwnerAWSAccountId: ACCOUNT,
    });
    expect(own.status).toBe(200);
  });
});

describe("the returned URL", () => {
  test.each([
    ["has the host the caller used", { host: "tidegate:4566" }, "http://tidegate:4566"],
    [
      "is https behind a proxy that uses https",
      { "x-forwarded-proto": "https" },
      "https://localhost:4566",
    ],
  ])("%s", async (_, headers, origin) => {
    const reply = await createWire().json("CreateQueue", { QueueName: "q" }, headers);
    expect(reply.value).toEqual({ QueueUrl: `${origin}/${ACCOUNT}/q` });
  });

  test.each([
    ["sends no Host header", {}],
    ["sends an empty one", { host: "" }],
  ])("has the configured host for a caller that %s", async (_, headers) => {
    const wire = createWire({}, { hostFallback: "127.0.0.1:9" });
    const reply = await wire.send({
      method: "POST",
      headers: { "x-amz-target": "AmazonSQS.CreateQueue", ...headers },
      body: Buffer.from('{"QueueName":"q"}'),
    });
    expect(reply.value).toEqual({ QueueUrl: `http://127.0.0.1:9/${ACCOUNT}/q` });
  });
});
