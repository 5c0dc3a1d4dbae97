import { expect, test } from "vitest";
import { explainAccess } from "./explain-access.ts";

const QUEUE = "arn:aws:sqs:us-east-1:000000000000:q";
const statement = (Sid: string, Effect: string, rest: object) => ({ Sid, Effect, ...rest });
const AUTH = {
  keys: [
    { accessKeyId: "OWNER", secretAccessKey: "s", account: "000000000000" },
    {
      accessKeyId: "APP",
      secretAccessKey: "s",
      account: "000000000000",
      policies: [
        { Statement: [statement("other", "Allow", { Action: "s3:*", Resource: "*" })] },
        {
          Statement: [
            statement("send", "Allow", { Action: "sqs:Send*", Resource: "*" }),
            statement("night", "Deny", {
              Action: "sqs:*",
              Resource: "*",
              Condition: { Bool: { "aws:SecureTransport": "false" } },
            }),
          ],
        },
      ],
    },
  ],
};

test.each<[string, string, object, boolean, RegExp]>([
  ["APP", "sqs:SendMessage", {}, true, /Statement\[0\] \("send"\) of policies\[1\] allows/],
  ["APP", "sqs:DeleteQueue", {}, false, /none of its policies allows sqs:DeleteQueue/],
  [
    "APP",
    "sqs:SendMessage",
    { context: { "aws:SecureTransport": "false" } },
    false,
    /Statement\[1\] \("night"\) of policies\[1\] denies/,
  ],
  ["OWNER", "sqs:DeleteQueue", {}, true, /root user/],
  [
    "OWNER",
    "sqs:DeleteQueue",
    {
      resourcePolicy: JSON.stringify({
        Statement: [{ Effect: "Deny", Principal: "*", Action: "sqs:*", Resource: "*" }],
      }),
    },
    false,
    /Statement\[0\] of the policy of the resource denies sqs:DeleteQueue/,
  ],
])("%s and %s with %j: %j", (accessKeyId, action, rest, allowed, reason) => {
  const explained = explainAccess({ auth: AUTH, accessKeyId, action, resource: QUEUE, ...rest });
  expect(explained).toMatchObject({ allowed, reason: expect.stringMatching(reason) });
});

test("an unknown key is refused with the names of the others", () => {
  const question = { auth: AUTH, accessKeyId: "X", action: "sqs:SendMessage", resource: QUEUE };
  expect(() => explainAccess(question)).toThrow('unknown key "X"; expected OWNER, APP');
});

const OTHER = {
  keys: [
    {
      accessKeyId: "OTHER",
      secretAccessKey: "s",
      account: "111111111111",
      policies: [{ Statement: [statement("all", "Allow", { Action: "*", Resource: "*" })] }],
    },
  ],
};
const OPEN = JSON.stringify({
  Statement: [{ Effect: "Allow", Principal: "*", Action: "*", Resource: "*" }],
});

test.each([
  ["s3:GetObject", "arn:aws:s3:::b/k", undefined, false],
  ["s3:GetObject", "arn:aws:s3:::b/k", OPEN, true],
  ["sqs:SendMessage", QUEUE, OPEN, true],
  ["sqs:DeleteQueue", QUEUE, OPEN, false],
])("a caller of another account, %s on %s: as in a cloud", (action, resource, policy, allowed) => {
  const question = { auth: OTHER, accessKeyId: "OTHER", action, resource };
  expect(explainAccess({ ...question, resourcePolicy: policy }).allowed).toBe(allowed);
});
