// Random policies: the evaluator decides as a second, slow one does.

import { expect, test } from "vitest";
import { decide } from "../../../src/core/access/access-decision.ts";
import type { AccessPrincipal } from "../../../src/core/access/access-policy.ts";
import { createSeededRandom } from "../../../src/core/seeded-random.ts";
import { patienceMs } from "../../support/patience.ts";
import { type SlowQuestion, type SlowStatement, slowDecision } from "../../support/slow-access.ts";

const COUNT = Number(process.env.TIDEGATE_POLICIES ?? (process.env.CI ? 100_000 : 20_000));
const SEED = Number(process.env.TIDEGATE_FUZZ_SEED ?? 1);

const random = createSeededRandom(SEED);
const pick = <T>(list: readonly T[]): T => list[random.below(list.length)] as T;
const maybe = (percent: number) => random.below(100) < percent;
const some = <T>(list: readonly T[]): T[] => list.filter(() => maybe(40)).concat(pick(list));

const A = "000000000000";
const B = "111111111111";
const USERS = [`arn:aws:iam::${A}:user/ann`, `arn:aws:iam::${B}:user/bob`];
const WHO = [
  ...USERS,
  `arn:aws:sts::${A}:assumed-role/app/s1`,
  `arn:aws:iam::${A}:root`,
  "s3.amazonaws.com",
  null,
];
const ROLES = ["app", "team/app"].map((name) => `arn:aws:iam::${A}:role/${name}`);
const NAMED = [...USERS, ...ROLES, `arn:aws:iam::${A}:root`, A, B, "*"];
const ACTIONS = ["sqs:SendMessage", "sqs:ReceiveMessage", "s3:GetObject", "SNS:Publish"];
const ACTION_PATTERNS = [...ACTIONS, "*", "sqs:*", "SQS:send*", "s3:?etObject", "*:*e"];
const RESOURCES = ["arn:aws:sqs:r:000000000000:q", "arn:aws:s3:::b/ann/x", "arn:aws:s3:::b/*/x"];
const RESOURCE_PATTERNS = [
  ...RESOURCES,
  "*",
  `arn:aws:s3:::b/\${aws:username}/*`,
  `arn:aws:s3:::b/\${*}/x`,
  "arn:aws:sqs:*",
  "arn:aws:s3:::b/a?n/*",
  `arn:aws:s3:::b/\${no:value}/*`,
];
const TEXTS = ["ann", "a*", "Ann", `\${aws:username}`, "b?b", "*", `\${no:value}`, `\${?}`];
const ARNS = [
  "arn:aws:sns:r:000000000000:t",
  "arn:aws:sns:*:*:t",
  "arn:aws:s3:::*",
  "*",
  "arn:aws",
];
const NUMBERS = ["5", "10", "-1", "7.5", "x"];
const TIMES = ["2026-01-01T00:00:00Z", "2026-06-01", "1780000000", "soon"];
const RANGES = ["10.0.0.0/8", "10.1.2.3", "192.168.0.0/16", "0.0.0.0/0", "here"];
const ORDERS = [
  "Equals",
  "LessThan",
  "LessThanEquals",
  "GreaterThan",
  "GreaterThanEquals",
  "NotEquals",
];

/** Operators, keys that fit them, and values. */
const KINDS: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
  [
    [
      "StringEquals",
      "StringNotEquals",
      "StringLike",
      "StringNotLike",
      "StringEqualsIgnoreCase",
      "StringNotEqualsIgnoreCase",
    ],
    ["aws:username", "aws:TagKeys", "s3:prefix"],
    TEXTS,
  ],
  [["ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike"], ["aws:SourceArn"], ARNS],
  [ORDERS.map((name) => `Numeric${name}`), ["s3:max-keys"], NUMBERS],
  [ORDERS.map((name) => `Date${name}`), ["aws:CurrentTime"], TIMES],
  [["IpAddress", "NotIpAddress"], ["aws:SourceIp"], RANGES],
  [["Bool"], ["aws:SecureTransport"], ["true", "false", "maybe"]],
];

function anyCondition(): SlowStatement["Condition"] {
  if (maybe(10))
    return { Null: { [pick(["aws:username", "aws:TagKeys"])]: [pick(["true", "false"])] } };
  const [operators, keys, values] = pick(KINDS);
  const set = maybe(30) ? pick(["ForAllValues:", "ForAnyValue:"]) : "";
  const name = `${set}${pick(operators)}${maybe(25) ? "IfExists" : ""}`;
  return { [name]: { [pick(keys)]: some(values).slice(0, 2) } };
}

function anyStatement(ofResource: boolean): SlowStatement {
  const principal = pick<unknown>(["*", { AWS: some(NAMED) }, { Service: ["s3.amazonaws.com"] }]);
  return {
    Effect: maybe(65) ? "Allow" : "Deny",
    ...(ofResource && { [maybe(85) ? "Principal" : "NotPrincipal"]: principal }),
    [maybe(80) ? "Action" : "NotAction"]: some(ACTION_PATTERNS).slice(0, 3),
    [maybe(80) ? "Resource" : "NotResource"]: some(RESOURCE_PATTERNS).slice(0, 3),
    ...(maybe(50) && { Condition: { ...anyCondition(), ...(maybe(30) && anyCondition()) } }),
  } as SlowStatement;
}

const list = (max: number, make: () => SlowStatement) =>
  Array.from({ length: random.below(max + 1) }, make);

function anyQuestion(): SlowQuestion {
  const who = pick(WHO);
  const context: Record<string, string | readonly string[]> = {};
  if (maybe(70)) context["aws:username"] = pick(["ann", "bob", "a*"]);
  if (maybe(50)) context["aws:tagkeys"] = pick([["ann"], ["ann", "bob"], []]);
  if (maybe(50)) context["s3:prefix"] = pick(["ann", "b?b", "Ann"]);
  if (maybe(60))
    context["aws:sourcearn"] = pick(["arn:aws:sns:r:000000000000:t", "arn:aws:s3:::b", "x"]);
  if (maybe(60)) context["s3:max-keys"] = pick(["5", "7.5", "11", "many"]);
  if (maybe(60))
    context["aws:currenttime"] = pick(["2026-01-01T00:00:00Z", "2026-07-01T12:00:00Z"]);
  if (maybe(60)) context["aws:sourceip"] = pick(["10.1.2.3", "192.168.9.9", "::1"]);
  if (maybe(60)) context["aws:securetransport"] = pick(["true", "false"]);
  const isRoot = who?.endsWith(":root") === true;
  const hasIdentity = who?.startsWith("arn:") === true;
  return {
    who,
    account: hasIdentity ? who.split(":")[4]! : "",
    owner: A,
    identity: isRoot ? null : hasIdentity ? list(3, () => anyStatement(false)) : [],
    resourcePolicy: list(3, () => anyStatement(true)),
    action: pick(ACTIONS),
    resource: pick(RESOURCES),
    context,
  };
}

function fast(question: SlowQuestion): ReturnType<typeof slowDecision> {
  const { who, identity, resourcePolicy, account, owner, action, resource, context } = question;
  const textOf = (Statement: readonly SlowStatement[]) =>
    JSON.stringify({ Version: "2012-10-17", Statement });
  const principal: AccessPrincipal =
    who === null ? { anonymous: true } : who.startsWith("arn:") ? { arn: who } : { service: who };
  const decision = decide({
    principal,
    account,
    owner,
    action,
    resource,
    context,
    policies: identity === null ? null : [textOf(identity)],
    resourcePolicy: textOf(resourcePolicy),
  });
  return decision.allowed ? "allowed" : decision.explicit ? "denied" : "refused";
}

test(
  `${COUNT} random requests (seed ${SEED}) are decided as a second evaluator decides them`,
  () => {
    const tally = { allowed: 0, denied: 0, refused: 0 };
    for (let index = 0; index < COUNT; index += 1) {
      const question = anyQuestion();
      const expected = slowDecision(question);
      if (fast(question) !== expected) expect({ question, decided: fast(question) }).toBe(expected);
      tally[expected] += 1;
    }
    expect(Math.min(...Object.values(tally))).toBeGreaterThan(COUNT / 20); // All three happen.
  },
  patienceMs(600_000),
);
