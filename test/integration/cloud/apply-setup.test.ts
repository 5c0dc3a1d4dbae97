import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Broker } from "../../../src/broker/engine/broker.ts";
import type { CloudSetup } from "../../../src/cloud/setup/cloud-setup.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";

const EXAMPLE = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../examples/cloud.json"), "utf8"),
) as CloudSetup;
const ARN = "arn:aws:sqs:us-east-1:000000000000:";

let data: string;
const clouds: Cloud[] = [];
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tidegate-setup-"));
});
afterEach(async () => {
  for (const cloud of clouds.splice(0)) await cloud.close();
  rmSync(data, { recursive: true, force: true });
});

async function start(setup?: CloudSetup): Promise<Cloud> {
  const cloud = await startCloud({ data, ...(setup === undefined ? {} : { setup }) });
  clouds.push(cloud);
  return cloud;
}

async function stop(cloud: Cloud): Promise<void> {
  await cloud.close();
  clouds.splice(clouds.indexOf(cloud), 1);
}

/** The state of all resources, as the broker returns it. */
async function snapshot({ broker }: Cloud) {
  const { names } = await resultOf(broker.submit("listQueues", { prefix: "", page: null }));
  const queues = await Promise.all(
    names.map((queue) => resultOf(broker.submit("getQueueAttributes", { queue, names: ["All"] }))),
  );
  const all = { topic: null, token: null };
  const { subscriptions } = await resultOf(broker.submit("listSubscriptions", all));
  const details = await Promise.all(
    subscriptions.map(({ arn }) => {
      const subscription = arn.slice(arn.lastIndexOf(":") + 1);
      return resultOf(broker.submit("getSubscriptionAttributes", { subscription }));
    }),
  );
  const topics = await resultOf(broker.submit("listTopics", { token: null }));
  const page = { prefix: "", after: "", limit: 100 };
  const buckets = await resultOf(broker.submit("listBuckets", page));
  return { names, queues, subscriptions, details, topics, buckets };
}

async function resultOf<T>(
  pending: Promise<{ ok: true; value: T } | { ok: false; fault: { message: string } }>,
): Promise<T> {
  const outcome = await pending;
  if (!outcome.ok) throw new Error(outcome.fault.message);
  return outcome.value;
}

function attributesOf(broker: Broker, queue: string) {
  return resultOf(broker.submit("getQueueAttributes", { queue, names: ["All"] }));
}

describe("a setup", () => {
  test("with problems of several kinds is refused with all of them in one message", async () => {
    const faulty = {
      queues: [
        { name: "typo", attribute: {} }, // an unknown field
        { name: "orders", deadLetter: { queue: "none", maxReceiveCount: 3 } }, // a bad reference
        { name: "slow", attributes: { VisibilityTimeout: "99999" } }, // a value that SQS refuses
        { name: "behind-typo", deadLetter: { queue: "typo", maxReceiveCount: 3 } }, // sound
      ],
      topics: [{ name: "news" }],
      subscriptions: [{ topic: "news", queue: "slow" }], // sound
      buckets: [{ name: "NO" }], // a name that S3 refuses
    } as unknown as CloudSetup;
    const refused = await start(faulty).catch((error: Error) => error.message);
    expect(String(refused).split("\n").slice(1)).toEqual([
      expect.stringMatching(/^ {2}\/queues\/0\/attribute /),
      "  /queues/1/deadLetter/queue names a queue that this setup does not define",
      expect.stringMatching(/^ {2}\/queues\/2 is refused: /),
      expect.stringMatching(/^ {2}\/buckets\/0 is refused: /),
    ]);
  });

  test("creates all resources of the example", async () => {
    const cloud = await start(EXAMPLE);
    const { names, subscriptions, topics, buckets } = await snapshot(cloud);
    expect(names).toEqual(["audit", "audit-dead", "ledger.fifo", "orders", "orders-dead"]);
    expect(topics.names).toEqual(["bookings.fifo", "uploads"]);
    expect(subscriptions.map(({ endpoint, pending }) => [endpoint, pending])).toEqual([
      [`${ARN}orders`, false],
      [`${ARN}audit`, false],
      [`${ARN}ledger.fifo`, false],
    ]);
    expect(buckets).toMatchObject({ buckets: [{ name: "landing", versioning: "Enabled" }] });
    const { attributes } = await attributesOf(cloud.broker, "orders");
    expect(attributes).toMatchObject({ VisibilityTimeout: "60" });
    expect(JSON.parse(attributes.RedrivePolicy ?? "")).toEqual({
      deadLetterTargetArn: `${ARN}orders-dead`,
      maxReceiveCount: 5,
    });
  });

  test("changes nothing when applied again, and completes a partial one (A3)", async () => {
    const { queues: [, ...later] = [], ...rest } = EXAMPLE;
    const part = { ...rest, queues: later, subscriptions: [] };
    await stop(await start(part));
    const whole = await start(EXAMPLE);
    const before = await snapshot(whole);
    await stop(whole);
    const again = await start(EXAMPLE);
    const after = await snapshot(again);
    // The first start only sends a test event for each new target.
    expect(after).toEqual(before);
  });

  test("accepts existing values that AWS returns in another form", async () => {
    const policy = (Sid: object): CloudSetup => ({
      queues: [
        {
          name: "q",
          attributes: {
            VisibilityTimeout: "030",
            Policy: { Version: "2012-10-17", Statement: [Sid as { [name: string]: string }] },
          },
        },
      ],
      topics: [
        {
          name: "t",
          tags: { team: "a" },
          attributes: {
            DeliveryPolicy: { http: { defaultHealthyRetryPolicy: { numRetries: 3 } } },
          },
        },
      ],
      subscriptions: [
        {
          topic: "t",
          endpoint: "http://127.0.0.1:1/",
          attributes: { DeliveryPolicy: { healthyRetryPolicy: { numRetries: 1 } } },
        },
      ],
    });
    const common = { Effect: "Allow", Principal: "*", Action: "sqs:SendMessage", Resource: "*" };
    const first = await start(policy({ Sid: "s", ...common }));
    const before = await snapshot(first);
    await stop(first);
    expect(await snapshot(await start(policy({ ...common, Sid: "s" })))).toEqual(before);
  });

  test("ignores the order of fields in policies", async () => {
    const filtered = (filterPolicy: { [name: string]: string[] }): CloudSetup => ({
      queues: [{ name: "q" }],
      topics: [{ name: "t" }],
      subscriptions: [{ topic: "t", queue: "q", filterPolicy }],
    });
    await stop(await start(filtered({ a: ["1"], b: ["2"] })));
    await start(filtered({ b: ["2"], a: ["1"] }));
  });

  test.each<[string, CloudSetup, string]>([
    [
      "an attribute",
      { queues: [{ name: "q", attributes: { VisibilityTimeout: 31 } }] },
      'the queue "q" differs: its attribute VisibilityTimeout is "30", not "31"',
    ],
    [
      "a tag",
      { queues: [{ name: "q", tags: { team: "b" } }] },
      'the queue "q" differs: its tag team is "a", not "b"',
    ],
    [
      "a topic",
      { topics: [{ name: "t", attributes: { DisplayName: "other" } }] },
      'the topic "t" differs: its attribute DisplayName is',
    ],
    [
      "a subscription",
      {
        queues: [{ name: "q" }],
        topics: [{ name: "t" }],
        subscriptions: [{ topic: "t", queue: "q", raw: false }],
      },
      'the subscription of "q" to "t" differs: its attribute RawMessageDelivery is "true"',
    ],
    [
      "versioning",
      { buckets: [{ name: "landing", versioning: "Suspended" }] },
      "it is Enabled, not Suspended",
    ],
    [
      "notifications",
      {
        queues: [{ name: "q" }],
        buckets: [
          { name: "landing", notifications: [{ queue: "q", events: ["s3:ObjectRemoved:*"] }] },
        ],
      },
      "the bucket has other notifications",
    ],
  ])("that differs in %s is refused, and nothing changes (A2)", async (_what, other, message) => {
    const first = await start({
      queues: [{ name: "q", tags: { team: "a" } }],
      topics: [{ name: "t" }],
      subscriptions: [{ topic: "t", queue: "q", raw: true }],
      buckets: [
        {
          name: "landing",
          versioning: "Enabled",
          notifications: [{ queue: "q", events: ["s3:ObjectCreated:*"] }],
        },
      ],
    });
    const before = await snapshot(first);
    await stop(first);
    const more = { ...other, queues: [{ name: "new" }, ...(other.queues ?? [])] };
    const refused = expect(start(more)).rejects;
    await refused.toMatchObject({
      code: "TG_SETUP_CONFLICT",
      message: expect.stringContaining(message),
    });
    expect(await snapshot(await start())).toEqual(before);
  });

  test("reports everything that the broker would refuse before it touches the folder (A1)", async () => {
    const setup: CloudSetup = {
      queues: [
        { name: "q", attributes: { VisibilityTimeout: 99_999 } },
        { name: "not a name" },
        { name: "good" },
      ],
      topics: [{ name: "t" }],
      subscriptions: [{ topic: "t", queue: "good", filterPolicy: { a: [{ huh: 1 }] } }],
      buckets: [{ name: "B!" }],
    };
    const failure = await start(setup).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "TG_CONFIG_INVALID" });
    const lines = (failure as Error).message.split("\n").slice(1);
    expect(lines.map((line) => line.trim().split(" ")[0])).toEqual([
      "/queues/0",
      "/queues/1",
      "/subscriptions/0",
      "/buckets/0",
    ]);
    expect((await snapshot(await start())).names).toEqual([]);
  });

  test("reports every structural problem with its path", async () => {
    const setup = { queues: [{ name: 1, dlq: 2 }], topic: [] } as unknown as CloudSetup;
    const failure = await start(setup).catch((error: Error) => error);
    expect((failure as Error).message).toMatch(/\/topic [\s\S]*\/queues\/0\/dlq [\s\S]*\/name /);
  });

  test("is applied before the first response", async () => {
    const cloud = await start(EXAMPLE);
    const reply = await fetch(`${cloud.endpoint}/_tidegate/queues`);
    expect(((await reply.json()) as { queues: unknown[] }).queues).toHaveLength(5);
  });
});
