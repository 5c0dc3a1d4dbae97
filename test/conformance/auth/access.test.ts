// What a signed caller may do: policies of callers, queues, topics and buckets decide together.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  ACCOUNT,
  KEY,
  openSigned,
  type Plain,
  plainRequest,
  sign,
  sns,
  sqs,
} from "../../support/signed-requests.ts";

const OTHER = "111111111111";
const QUEUE = `arn:aws:sqs:us-east-1:${ACCOUNT}:q`;
const TOPIC = `arn:aws:sns:us-east-1:${ACCOUNT}:t`;
const URL_OF_QUEUE = `http://localhost/${ACCOUNT}/q`;

type Key = Parameters<typeof openSigned>[0] extends infer A
  ? NonNullable<A> extends { readonly keys: readonly (infer K)[] }
    ? K
    : never
  : never;

const key = (accessKeyId: string, account: string, ...statements: object[]): Key => ({
  accessKeyId,
  secretAccessKey: `secret of ${accessKeyId}`,
  account,
  policies: [{ Version: "2012-10-17", Statement: statements }],
});
const allow = (Action: unknown, Resource: unknown = "*", rest: object = {}) => ({
  Effect: "Allow",
  Action,
  Resource,
  ...rest,
});
const deny = (Action: unknown, Resource: unknown = "*") => ({
  ...allow(Action, Resource),
  Effect: "Deny",
});

const KEYS = {
  owner: KEY,
  nothing: key("nothing", ACCOUNT, deny("iam:*")),
  sender: key("sender", ACCOUNT, allow("sqs:SendMessage", QUEUE)),
  reader: key("reader", ACCOUNT, allow("s3:GetObject", `arn:aws:s3:::bkt/\${aws:username}/*`)),
  denied: key("denied", ACCOUNT, allow("*"), deny(["sqs:*", "sns:*"]), deny("s3:Get*")),
  publisher: key("publisher", ACCOUNT, allow("sns:Publish", TOPIC)),
  other: key("other", OTHER, allow("*")),
  powerless: key("powerless", OTHER, allow("s3:*")),
} as const;

type Name = keyof typeof KEYS;

let world: Awaited<ReturnType<typeof openSigned>>;

async function as(name: Name, plain: Plain, service: string) {
  return world.send(await sign(plain, { key: KEYS[name] as never, at: world.now(), service }));
}

const put = (path: string, body: string, query = "") => plainRequest("PUT", path, { body, query });

beforeEach(async () => {
  world = await openSigned({ keys: Object.values(KEYS) });
  expect((await as("owner", sqs("CreateQueue", { QueueName: "q" }), "sqs")).status).toBe(200);
  expect((await as("owner", sns({ Action: "CreateTopic", Name: "t" }), "sns")).status).toBe(200);
  expect((await as("owner", put("/bkt", ""), "s3")).status).toBe(200);
  expect((await as("owner", put("/bkt/reader/a", "bytes"), "s3")).status).toBe(200);
});
afterEach(() => world.cloud.close());

const SEND = sqs("SendMessage", { QueueUrl: URL_OF_QUEUE, MessageBody: "m" });
const send = (name: Name) => as(name, SEND, "sqs");

function setPolicy(...statements: object[]) {
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: statements });
  return as(
    "owner",
    sqs("SetQueueAttributes", { QueueUrl: URL_OF_QUEUE, Attributes: { Policy } }),
    "sqs",
  );
}

describe("SQS", () => {
  test("the caller's policy allows, and the refusal has AWS's sentence", async () => {
    expect(await send("sender")).toMatchObject({ status: 200 });
    const refused = await send("nothing");
    expect(refused).toMatchObject({ status: 403, code: "AccessDenied" });
    expect(JSON.parse(refused.text)).toEqual({
      __type: "com.amazon.coral.service#AccessDeniedException",
      message:
        `User: arn:aws:iam::${ACCOUNT}:user/nothing is not authorized to perform: sqs:sendmessage ` +
        `on resource: ${QUEUE} because no identity-based policy allows the sqs:sendmessage action`,
    });
    const denied = await send("denied");
    expect(denied.text).toContain("with an explicit deny in an identity-based policy");
  });

  test("a batch needs the right of the single action", async () => {
    const Entries = [{ Id: "1", MessageBody: "m" }];
    const batch = sqs("SendMessageBatch", { QueueUrl: URL_OF_QUEUE, Entries });
    expect((await as("sender", batch, "sqs")).status).toBe(200);
    const receive = sqs("ReceiveMessage", { QueueUrl: URL_OF_QUEUE });
    expect((await as("sender", receive, "sqs")).code).toBe("AccessDenied");
  });

  test("a field that the action does not read gives no right", async () => {
    const odd = sqs("CreateQueue", { QueueUrl: URL_OF_QUEUE, QueueName: "another" });
    expect((await as("sender", odd, "sqs")).code).toBe("AccessDenied");
  });

  test("the queue's policy allows a user of the account, and denies even the owner", async () => {
    const sends = { Action: "sqs:SendMessage", Resource: QUEUE };
    const nothing = { AWS: `arn:aws:iam::${ACCOUNT}:user/nothing` };
    await setPolicy({ Effect: "Allow", Principal: { AWS: ACCOUNT }, ...sends });
    expect((await send("nothing")).status).toBe(403); // The account leaves it to its own policies.
    await setPolicy({ Effect: "Allow", Principal: nothing, ...sends });
    expect((await send("nothing")).status).toBe(200);
    await setPolicy({ Effect: "Deny", Principal: "*", ...sends });
    const refused = await send("owner");
    expect(refused.text).toContain("with an explicit deny in a resource-based policy");
    await setPolicy({ Effect: "Deny", NotPrincipal: { AWS: KEYS.owner.account }, ...sends });
    expect((await send("owner")).status).toBe(200);
    expect((await send("other")).status).toBe(403);
  });

  test("a policy with a condition key that every object inherits refuses, and fails nothing", async () => {
    const sends = { Action: "sqs:SendMessage", Resource: QUEUE };
    for (const name of ["constructor", "__proto__"]) {
      const key = Object.fromEntries([[name, "x"]]);
      const Condition = { StringEquals: key };
      const everybody = { Effect: "Allow", Principal: "*", ...sends, Condition };
      expect((await setPolicy(everybody)).status).toBe(200);
      expect((await send("nothing")).status).toBe(403);
      const subscribe = { Action: "Subscribe", TopicArn: TOPIC, Protocol: "sqs", Endpoint: QUEUE };
      expect((await as("owner", sns(subscribe), "sns")).status).toBe(200);
      const publish = sns({ Action: "Publish", TopicArn: TOPIC, Message: "m" });
      expect((await as("owner", publish, "sns")).status).toBe(200);
    }
  });

  test("aws:PrincipalArn of a session is its role", async () => {
    await world.cloud.close();
    const role = `arn:aws:iam::${ACCOUNT}:role/app`;
    const Condition = { ArnEquals: { "aws:PrincipalArn": role } };
    const principal = `arn:aws:sts::${ACCOUNT}:assumed-role/app/s1`;
    const session = { ...key("nothing", ACCOUNT, allow("sqs:*", "*", { Condition })), principal };
    world = await openSigned({ keys: [KEY, session] });
    await as("owner", sqs("CreateQueue", { QueueName: "q" }), "sqs");
    expect((await send("nothing")).status).toBe(200);
  });

  test.each([
    [undefined, {}, 200],
    ["127.0.0.1", {}, 200],
    ["127.0.0.1", { "x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.9" }, 200],
    ["127.0.0.1", { "x-forwarded-proto": "http", "x-forwarded-for": "10.0.0.9" }, 403],
    ["127.0.0.1", { "x-forwarded-for": "10.0.0.9" }, 403],
    ["10.0.0.9", { "x-forwarded-proto": "https" }, 403],
    ["10.0.0.9", {}, 403],
  ])("aws:SecureTransport from %s with %j: %d", async (remoteAddress, headers, status) => {
    await setPolicy({
      ...deny("sqs:SendMessage", QUEUE),
      Principal: "*",
      Condition: { Bool: { "aws:SecureTransport": "false" } },
    });
    const signed = await sign(SEND, { key: KEY, at: world.now() });
    const sent = { ...signed, headers: { ...signed.headers, ...headers } };
    const from = remoteAddress === undefined ? {} : { remoteAddress };
    expect((await world.send({ ...sent, ...from })).status).toBe(status);
  });

  test("another account needs both policies, and never gets an owner's action", async () => {
    const actions = { Action: "sqs:*", Resource: QUEUE };
    expect((await send("other")).text).toContain("because no resource-based policy allows");
    await setPolicy({ Effect: "Allow", Principal: { AWS: OTHER }, ...actions });
    expect((await send("other")).status).toBe(200);
    expect((await send("powerless")).text).toContain("because no identity-based policy allows");
    const remove = sqs("DeleteQueue", { QueueUrl: URL_OF_QUEUE });
    expect((await as("other", remove, "sqs")).status).toBe(403);
  });

  test("an unsigned request passes if the queue's policy allows everybody", async () => {
    expect((await world.send(SEND)).code).toBe("AccessDenied");
    await setPolicy({
      Effect: "Allow",
      Principal: "*",
      Action: "sqs:SendMessage",
      Resource: QUEUE,
    });
    expect((await world.send(SEND)).status).toBe(200);
    expect((await world.send(sqs("PurgeQueue", { QueueUrl: URL_OF_QUEUE }))).status).toBe(403);
  });
});

describe("SNS", () => {
  const publish = sns({ Action: "Publish", TopicArn: TOPIC, Message: "m" });

  test("the caller's policy allows, and the refusal has AWS's code and sentence", async () => {
    expect((await as("publisher", publish, "sns")).status).toBe(200);
    const refused = await as("nothing", publish, "sns");
    expect(refused).toMatchObject({ status: 403, code: "AuthorizationError" });
    expect(refused.text).toContain(
      `User: arn:aws:iam::${ACCOUNT}:user/nothing is not authorized to perform: SNS:Publish on ` +
        `resource: ${TOPIC} because no identity-based policy allows the SNS:Publish action`,
    );
  });

  test("a subscription belongs to its topic, whatever its ARN says", async () => {
    const subscribe = sns({
      Action: "Subscribe",
      TopicArn: TOPIC,
      Protocol: "sqs",
      Endpoint: QUEUE,
    });
    const { text } = await as("owner", subscribe, "sns");
    const id = /:t:([\w-]+)</.exec(text)![1]!;
    await world.cloud.close();
    world = await openSigned({
      keys: [KEY, key("nothing", ACCOUNT, allow("sns:*", TOPIC.replace(/t$/, "mine")))],
    });
    await as("owner", sns({ Action: "CreateTopic", Name: "t" }), "sns");
    const again = /:t:([\w-]+)</.exec((await as("owner", subscribe, "sns")).text)?.[1] ?? id;
    const SubscriptionArn = `${TOPIC.replace(/t$/, "mine")}:${again}`;
    const read = sns({ Action: "GetSubscriptionAttributes", SubscriptionArn });
    expect((await as("nothing", read, "sns")).code).toBe("AuthorizationError");
  });
});

describe("S3", () => {
  const get = (path: string, query = "") => plainRequest("GET", path, { query });

  test("a variable in a policy has the name of the user", async () => {
    expect((await as("reader", get("/bkt/reader/a"), "s3")).text).toBe("bytes");
    const refused = await as("reader", get("/bkt/other/a"), "s3");
    expect(refused).toMatchObject({ status: 403, code: "AccessDenied" });
    expect(refused.text).toContain("is not authorized to perform: s3:GetObject on resource:");
  });

  test("who may not list does not learn which keys exist", async () => {
    expect((await as("reader", get("/bkt/reader/none"), "s3")).status).toBe(403);
    expect((await as("owner", get("/bkt/reader/none"), "s3")).status).toBe(404);
  });

  test("a bucket's policy with a condition opens a prefix to everybody", async () => {
    const statement = {
      Effect: "Allow",
      Principal: "*",
      Action: "s3:ListBucket",
      Resource: "arn:aws:s3:::bkt",
      Condition: {
        StringLike: { "s3:prefix": "reader/*" },
        IpAddress: { "aws:SourceIp": "127.0.0.0/8" },
      },
    };
    const text = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
    expect((await as("owner", put("/bkt", text, "policy="), "s3")).status).toBe(204);
    expect((await world.send(get("/bkt", "prefix=reader/x"))).status).toBe(200);
    expect((await world.send(get("/bkt", "prefix=other/"))).status).toBe(403);
    expect((await world.send(get("/bkt"))).code).toBe("AccessDenied");
  });

  test("a policy that locks out its author needs a confirmation; the root user is not locked out", async () => {
    const policyFor = (AWS: string) => {
      const statement = { ...deny("s3:PutBucketPolicy", "arn:aws:s3:::bkt"), Principal: { AWS } };
      return put("/bkt", JSON.stringify({ Statement: [statement] }), "policy=");
    };
    const lockout = policyFor("*");
    const refused = await as("denied", lockout, "s3");
    expect(refused).toMatchObject({ status: 501, code: "NotImplemented" });
    expect(refused.text).toContain("x-amz-confirm-remove-self-bucket-access: true");
    const stored = () => as("owner", get("/bkt", "policy="), "s3");
    expect((await stored()).code).toBe("NoSuchBucketPolicy");
    const another = policyFor(`arn:aws:iam::${ACCOUNT}:user/reader`);
    expect((await as("denied", another, "s3")).status).toBe(204);
    const headers = { ...lockout.headers, "x-amz-confirm-remove-self-bucket-access": "true" };
    expect((await as("denied", { ...lockout, headers }, "s3")).status).toBe(204);
    expect((await as("denied", another, "s3")).code).toBe("AccessDenied");
    expect((await stored()).status).toBe(200);
    expect((await as("owner", lockout, "s3")).status).toBe(204);
    expect((await as("owner", another, "s3")).status).toBe(204);
  });

  test("a copy needs the right to read its source, too", async () => {
    const copy = {
      ...plainRequest("PUT", "/bkt/copy"),
      headers: { host: "127.0.0.1:4566", "x-amz-copy-source": "/bkt/reader/a" },
    };
    expect((await as("denied", copy, "s3")).code).toBe("AccessDenied");
    expect((await as("owner", copy, "s3")).status).toBe(200);
    expect((await as("denied", put("/bkt/own", "bytes"), "s3")).status).toBe(200);
  });

  test("DeleteObjects deletes what the caller may delete, and reports the rest", async () => {
    await world.cloud.close();
    world = await openSigned({
      keys: [KEY, key("nothing", ACCOUNT, allow("s3:DeleteObject", "arn:aws:s3:::bkt/mine/*"))],
    });
    for (const path of ["/bkt", "/bkt/mine/a", "/bkt/theirs/a"])
      await as("owner", put(path, ""), "s3");
    const body =
      "<Delete><Object><Key>mine/a</Key></Object><Object><Key>theirs/a</Key></Object></Delete>";
    const both = plainRequest("POST", "/bkt", { query: "delete=", body });
    const { text } = await as("nothing", both, "s3");
    expect(text).toContain("<Deleted><Key>mine/a</Key></Deleted>");
    expect(text).toContain("<Error><Key>theirs/a</Key><Code>AccessDenied</Code>");
    expect((await as("owner", get("/bkt/theirs/a"), "s3")).status).toBe(200);
  });

  test("DeleteObjects has the condition keys of S3", async () => {
    await world.cloud.close();
    const Condition = { StringEquals: { "s3:authType": "REST-HEADER" } };
    const own = key("nothing", ACCOUNT, allow("s3:DeleteObject", "*", { Condition }));
    world = await openSigned({ keys: [KEY, own] });
    for (const path of ["/bkt", "/bkt/a"]) await as("owner", put(path, ""), "s3");
    const body = "<Delete><Object><Key>a</Key></Object></Delete>";
    const { text } = await as(
      "nothing",
      plainRequest("POST", "/bkt", { query: "delete=", body }),
      "s3",
    );
    expect(text).toContain("<Deleted><Key>a</Key></Deleted>");
  });
});
