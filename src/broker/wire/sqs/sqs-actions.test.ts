import { describe, expect, test } from "vitest";
import { ACCOUNT, createWire } from "../../../../test/support/scripted-broker.ts";
import { succeed } from "../../../core/result.ts";
import { epochMs } from "../../../core/units.ts";
import { refuse } from "../../model/fault.ts";
import type { MoveTaskView } from "../../model/operations.ts";
import { SQS_ACTIONS } from "./sqs-actions.ts";

const QueueUrl = `http://h/${ACCOUNT}/q`;

test("all 23 actions exist, each once", () => {
  expect(new Set(SQS_ACTIONS.map(({ name }) => name)).size).toBe(23);
  expect(SQS_ACTIONS).toHaveLength(23);
});

test.each<[string, object, string, unknown, unknown]>([
  [
    "CreateQueue",
    { QueueName: "a", Attributes: { DelaySeconds: "1" }, tags: { k: "v" } },
    "createQueue",
    { name: "a", attributes: { DelaySeconds: "1" }, tags: { k: "v" } },
    { QueueUrl: `http://localhost:4566/${ACCOUNT}/a` },
  ],
  [
    "GetQueueUrl",
    { QueueName: "a" },
    "findQueue",
    { queue: "a" },
    { QueueUrl: `http://localhost:4566/${ACCOUNT}/a` },
  ],
  ["GetQueueAttributes", { QueueUrl }, "getQueueAttributes", { queue: "q", names: [] }, {}],
  ["ListQueues", {}, "listQueues", { prefix: "", page: null }, {}],
  [
    "ListQueues",
    { QueueNamePrefix: "p", MaxResults: 2, NextToken: "t" },
    "listQueues",
    { prefix: "p", page: { limit: 2, token: "t" } },
    {},
  ],
  [
    "ListQueues",
    { NextToken: "t" },
    "listQueues",
    { prefix: "", page: { limit: 1_000, token: "t" } },
    {},
  ],
  [
    "ListDeadLetterSourceQueues",
    { QueueUrl, MaxResults: 5 },
    "listDeadLetterSources",
    { queue: "q", page: { limit: 5, token: null } },
    {},
  ],
  ["ListQueueTags", { QueueUrl }, "listQueueTags", { queue: "q" }, {}],
  [
    "StartMessageMoveTask",
    { SourceArn: "s", DestinationArn: "d", MaxNumberOfMessagesPerSecond: 500 },
    "startMoveTask",
    { sourceArn: "s", destinationArn: "d", perSecondMax: 500 },
    { TaskHandle: "task" },
  ],
  [
    "StartMessageMoveTask",
    { SourceArn: "s" },
    "startMoveTask",
    { sourceArn: "s", destinationArn: null, perSecondMax: null },
    { TaskHandle: "task" },
  ],
  [
    "CancelMessageMoveTask",
    { TaskHandle: "t" },
    "cancelMoveTask",
    { handle: "t" },
    { ApproximateNumberOfMessagesMoved: 0 },
  ],
  ["ListMessageMoveTasks", { SourceArn: "s" }, "listMoveTasks", { sourceArn: "s", limit: 1 }, {}],
])(
  "%s %o calls the broker and returns its output",
  async (name, body, operation, input, output) => {
    const wire = createWire();
    const reply = await wire.json(name, body);
    expect(wire.asked).toEqual([{ name: operation, input }]);
    expect(reply.value).toEqual(output);
  },
);

test.each<[string, object, string, unknown]>([
  ["DeleteQueue", {}, "deleteQueue", {}],
  ["PurgeQueue", {}, "purgeQueue", {}],
  [
    "SetQueueAttributes",
    { Attributes: { Policy: "" } },
    "setQueueAttributes",
    { attributes: { Policy: "" } },
  ],
  ["TagQueue", { Tags: { k: "" } }, "tagQueue", { tags: { k: "" } }],
  ["UntagQueue", { TagKeys: ["k"] }, "untagQueue", { keys: ["k"] }],
  [
    "AddPermission",
    { Label: "l", AWSAccountIds: ["111111111111"], Actions: ["*"] },
    "addPermission",
    { label: "l", accounts: ["111111111111"], actions: ["*"] },
  ],
  ["RemovePermission", { Label: "l" }, "removePermission", { label: "l" }],
  ["DeleteMessage", { ReceiptHandle: "h" }, "delete", { handles: ["h"] }],
  [
    "ChangeMessageVisibility",
    { ReceiptHandle: "h", VisibilityTimeout: 0 },
    "changeVisibility",
    { entries: [{ handle: "h", visibilityMs: 0 }] },
  ],
])("%s %o calls the broker and returns no output", async (name, body, operation, input) => {
  const wire = createWire();
  const reply = await wire.json(name, { QueueUrl, ...body });
  expect(wire.asked).toEqual([{ name: operation, input: { queue: "q", ...(input as object) } }]);
  expect([reply.status, reply.text]).toEqual([200, ""]);
});

test.each([
  ["CreateQueue", {}, "QueueName"],
  ["DeleteMessage", { QueueUrl }, "ReceiptHandle"],
  ["DeleteMessage", { QueueUrl, ReceiptHandle: "" }, "ReceiptHandle"],
  ["ChangeMessageVisibility", { QueueUrl, VisibilityTimeout: 1 }, "ReceiptHandle"],
  ["ChangeMessageVisibility", { QueueUrl, ReceiptHandle: "h" }, "VisibilityTimeout"],
  ["SetQueueAttributes", { QueueUrl }, "Attributes"],
  ["TagQueue", { QueueUrl }, "Tags"],
  ["UntagQueue", { QueueUrl }, "TagKeys"],
  ["AddPermission", { QueueUrl }, "Label"],
  ["AddPermission", { QueueUrl, Label: "l" }, "AWSAccountIds"],
  ["AddPermission", { QueueUrl, Label: "l", AWSAccountIds: ["1"] }, "Actions"],
  ["RemovePermission", { QueueUrl }, "Label"],
  ["StartMessageMoveTask", {}, "SourceArn"],
  ["ListMessageMoveTasks", {}, "SourceArn"],
  ["CancelMessageMoveTask", {}, "TaskHandle"],
])("%s %o names the missing parameter", async (name, body, parameter) => {
  const wire = createWire();
  const reply = await wire.json(name, body);
  expect(reply.value).toEqual({
    __type: "com.amazon.coral.service#MissingRequiredParameterException",
    message: `The request must contain the parameter ${parameter}.`,
  });
  expect(wire.asked).toEqual([]);
});

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [i, ""]));
const grant = { QueueUrl, Label: "l", AWSAccountIds: ["111111111111"], Actions: ["SendMessage"] };

test.each<[string, object, string]>([
  ["GetQueueUrl", {}, "InvalidParameterValue"],
  ["ListQueues", { MaxResults: 0 }, "InvalidParameterValue"],
  ["ListQueues", { MaxResults: 1_001 }, "InvalidParameterValue"],
  ["ListDeadLetterSourceQueues", { QueueUrl, MaxResults: 1_001 }, "InvalidParameterValue"],
  ["ListMessageMoveTasks", { SourceArn: "s", MaxResults: 11 }, "InvalidParameterValue"],
  [
    "StartMessageMoveTask",
    { SourceArn: "s", MaxNumberOfMessagesPerSecond: 501 },
    "InvalidParameterValue",
  ],
  [
    "ChangeMessageVisibility",
    { QueueUrl, ReceiptHandle: "h", VisibilityTimeout: 43_201 },
    "InvalidParameterValue",
  ],
  [
    "ChangeMessageVisibility",
    { QueueUrl, ReceiptHandle: "h", VisibilityTimeout: -1 },
    "InvalidParameterValue",
  ],
  ["TagQueue", { QueueUrl, Tags: many(51) }, "InvalidParameterValue"],
  ["TagQueue", { QueueUrl, Tags: { "": "v" } }, "InvalidParameterValue"],
  ["TagQueue", { QueueUrl, Tags: { "aws:x": "v" } }, "InvalidParameterValue"],
  ["TagQueue", { QueueUrl, Tags: { ["k".repeat(129)]: "v" } }, "InvalidParameterValue"],
  ["TagQueue", { QueueUrl, Tags: { k: "v".repeat(257) } }, "InvalidParameterValue"],
  ["CreateQueue", { QueueName: "q", tags: { "\u0001": "v" } }, "InvalidParameterValue"],
  ["AddPermission", { ...grant, Label: "a b" }, "InvalidParameterValue"],
])("%s %o is refused without calling the broker", async (name, body, code) => {
  const wire = createWire();
  const reply = await wire.json(name, body);
  expect(reply.headers["x-amzn-query-error"]).toBe(`${code};Sender`);
  expect(wire.asked).toEqual([]);
});

describe("a move task", () => {
  const task: MoveTaskView = {
    handle: "h",
    status: "RUNNING",
    sourceArn: "s",
    destinationArn: null,
    perSecondMax: null,
    moved: 1,
    toMove: 2,
    failureReason: null,
    startedAt: epochMs(5_000),
  };

  test("returns its handle only while it runs, and omits absent fields", async () => {
    const failed: MoveTaskView = {
      ...task,
      status: "FAILED",
      destinationArn: "d",
      perSecondMax: 3,
      failureReason: "AWS.SimpleQueueService.NonExistentQueue",
    };
    const wire = createWire({ listMoveTasks: () => succeed({ tasks: [task, failed] }) });
    const reply = await wire.json("ListMessageMoveTasks", { SourceArn: "s", MaxResults: 10 });
    const counts = { ApproximateNumberOfMessagesMoved: 1, ApproximateNumberOfMessagesToMove: 2 };
    expect(reply.value.Results).toEqual([
      { TaskHandle: "h", Status: "RUNNING", SourceArn: "s", StartedTimestamp: 5_000, ...counts },
      {
        Status: "FAILED",
        SourceArn: "s",
        DestinationArn: "d",
        MaxNumberOfMessagesPerSecond: 3,
        FailureReason: "AWS.SimpleQueueService.NonExistentQueue",
        StartedTimestamp: 5_000,
        ...counts,
      },
    ]);
  });

  test("is listed in XML with AWS's element name", async () => {
    const wire = createWire({ listMoveTasks: () => succeed({ tasks: [task] }) });
    const reply = await wire.form({ Action: "ListMessageMoveTasks", SourceArn: "s" });
    expect(reply.text).toContain(
      "<ListMessageMoveTasksResult><ListMessageMoveTasksResultEntry><TaskHandle>h</TaskHandle>",
    );
  });
});

test("lists of URLs have AWS's field names, in each case", async () => {
  const wire = createWire({
    listQueues: () => succeed({ names: ["a"], nextToken: "more" }),
    listDeadLetterSources: () => succeed({ names: ["b"], nextToken: null }),
    listQueueTags: () => succeed({ tags: { k: "v" } }),
  });
  expect((await wire.json("ListQueues", {})).value).toEqual({
    QueueUrls: [`http://localhost:4566/${ACCOUNT}/a`],
    NextToken: "more",
  });
  expect((await wire.json("ListDeadLetterSourceQueues", { QueueUrl })).value).toEqual({
    queueUrls: [`http://localhost:4566/${ACCOUNT}/b`],
  });
  expect((await wire.json("ListQueueTags", { QueueUrl })).value).toEqual({ Tags: { k: "v" } });
});

test("the fault of a single handle becomes the fault of the request", async () => {
  const fault = refuse("ReceiptHandleIsInvalid", "garbage").fault;
  const wire = createWire({
    delete: () => succeed({ faults: [fault] }),
    changeVisibility: () => succeed({ faults: [fault] }),
  });
  const body = { QueueUrl, ReceiptHandle: "garbage", VisibilityTimeout: 1 };
  expect((await wire.json("DeleteMessage", body)).status).toBe(404);
  expect((await wire.json("ChangeMessageVisibility", body)).status).toBe(404);
});
