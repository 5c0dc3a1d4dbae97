import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AccessRequest,
  allowsService,
  decideAccess,
  type ServiceRequest,
} from "./access-policy.ts";
import { matchesPattern } from "./pattern.ts";

const TOPIC = "arn:aws:sns:us-east-1:000000000000:orders";
const QUEUE = "arn:aws:sqs:us-east-1:000000000000:inbox";

const REQUEST: ServiceRequest = {
  service: "sns.amazonaws.com",
  action: "sqs:SendMessage",
  resource: QUEUE,
  sourceArn: TOPIC,
  sourceAccount: "000000000000",
};

const ALLOW = {
  Effect: "Allow",
  Principal: { Service: "sns.amazonaws.com" },
  Action: "sqs:SendMessage",
  Resource: QUEUE,
  Condition: { ArnEquals: { "aws:SourceArn": TOPIC } },
};

function allows(...statements: object[]): boolean {
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: statements });
  return allowsService(policy, REQUEST);
}

test("a missing, malformed or empty policy grants nothing", () => {
  const texts = [undefined, "{", "null", "[]", "{}", '{"Statement":[]}', '{"Statement":"x"}'];
  expect(texts.map((text) => allowsService(text, REQUEST))).toEqual(texts.map(() => false));
});

test("the statement from AWS's guides allows the delivery", () => {
  expect(allows(ALLOW)).toBe(true);
  expect(allowsService(JSON.stringify({ Statement: ALLOW }), REQUEST)).toBe(true);
});

describe("principals", () => {
  test.each<[unknown, boolean]>([
    ["*", true],
    [{ AWS: "*" }, true],
    [{ AWS: ["x", "*"] }, true],
    [{ Service: ["s3.amazonaws.com", "sns.amazonaws.com"] }, true],
    [{ Service: "s3.amazonaws.com" }, false],
    [{ AWS: "arn:aws:iam::000000000000:root" }, false],
    ["sns.amazonaws.com", false],
    [undefined, false],
  ])("%j", (Principal, expected) => {
    expect(allows({ ...ALLOW, Principal })).toBe(expected);
  });
});

describe("actions and resources", () => {
  test.each<[unknown, boolean]>([
    ["SQS:SendMessage", true],
    ["sqs:*", true],
    ["*", true],
    ["sqs:Send*", true],
    [["sqs:ReceiveMessage", "sqs:SendMessage"], true],
    ["sqs:ReceiveMessage", false],
    ["SendMessage", false],
  ])("action %j", (Action, expected) => {
    expect(allows({ ...ALLOW, Action })).toBe(expected);
  });

  test.each<[unknown, boolean]>([
    ["*", true],
    ["arn:aws:sqs:us-east-1:000000000000:in*", true],
    [[QUEUE], true],
    [`${QUEUE}2`, false],
  ])("resource %j", (Resource, expected) => {
    expect(allows({ ...ALLOW, Resource })).toBe(expected);
  });

  test("NotAction and NotResource grant everything except what they list", () => {
    const { Action, Resource, ...rest } = ALLOW;
    expect(allows({ ...rest, Resource, NotAction: "sqs:DeleteMessage" })).toBe(true);
    expect(allows({ ...rest, Resource, NotAction: "sqs:Send*" })).toBe(false);
    expect(allows({ ...rest, Action, NotResource: "other" })).toBe(true);
    expect(allows({ ...rest, Action, NotResource: QUEUE })).toBe(false);
  });
});

describe("callers", () => {
  const BOB = "arn:aws:iam::000000000000:user/bob";
  const ANN = "arn:aws:iam::000000000000:user/ann";
  const ROOT = "arn:aws:iam::000000000000:root";
  const SESSION = "arn:aws:sts::000000000000:assumed-role/app/s1";
  const verdict = (arn: string, Statement: object, context: AccessRequest["context"] = {}) =>
    decideAccess(JSON.stringify({ Version: "2012-10-17", Statement }), {
      principal: { arn },
      action: "sqs:SendMessage",
      resource: QUEUE,
      context,
    });
  const all = { Action: "*", Resource: "*" };

  test("an account in NotPrincipal exempts none of its users from a Deny (P4)", () => {
    const NotPrincipal = { AWS: [BOB, ROOT] };
    const deny = { Effect: "Deny", NotPrincipal, ...all };
    const verdicts = [ANN, BOB, ROOT].map((arn) => verdict(arn, deny));
    expect(verdicts).toEqual(["deny", "none", "none"]);
    expect(verdict(ANN, { Effect: "Allow", NotPrincipal, ...all })).toBe("none");
  });

  test.each([
    ["arn:aws:iam::000000000000:role/app", "deny"],
    ["arn:aws:iam::000000000000:role/team/a/app", "deny"],
    ["arn:aws:iam::000000000000:role/app/other", "none"],
    ["arn:aws:iam::111111111111:role/team/app", "none"],
  ])("a session is its role, whatever its path: %s, %s", (AWS, expected) => {
    expect(verdict(SESSION, { Effect: "Deny", Principal: { AWS }, ...all })).toBe(expected);
  });

  test.each(["constructor", "__proto__", "toString"])("the key %s has no value (W4)", (key) => {
    const when = (Condition: object) =>
      verdict(ANN, { Effect: "Allow", Principal: "*", ...all, Condition });
    const own = (value: string) => Object.fromEntries([[key, value]]);
    expect(when({ StringEquals: own("x") })).toBe("none");
    expect(when({ Null: own("true") })).toBe("allow");
    expect(when({ StringLike: { "aws:username": `\${${key}}` } })).toBe("none");
    const named = { Effect: "Allow", Principal: "*", Action: "*", Resource: `\${${key}}*` };
    expect(verdict(ANN, named)).toBe("none");
  });
});

describe("conditions", () => {
  test.each<[object | undefined, boolean]>([
    [undefined, true],
    [{ ArnLike: { "aws:SourceArn": "arn:aws:sns:*:*:orders" } }, true],
    [{ ArnEquals: { "AWS:SourceArn": [`${TOPIC}2`, TOPIC] } }, true],
    [{ StringEquals: { "aws:SourceArn": TOPIC } }, true],
    [{ StringLike: { "aws:SourceArn": "arn:aws:sns:*" } }, true],
    [{ StringEquals: { "aws:SourceArn": "arn:aws:sns:*" } }, false],
    [{ ArnEquals: { "aws:SourceArn": `${TOPIC}2` } }, false],
    [{ StringEquals: { "aws:SourceAccount": "000000000000" } }, true],
    [{ StringEquals: { "aws:SourceAccount": "1" } }, false],
    [{ StringNotEquals: { "aws:SourceAccount": "1" } }, true],
    [{ ArnNotLike: { "aws:SourceArn": "arn:aws:sns:*" } }, false],
    [{ Bool: { "aws:SecureTransport": "true" } }, true],
    [{ Bool: { "aws:SecureTransport": false } }, false],
    [{ Null: { "aws:SourceArn": "false" } }, true],
    [{ StringEqualsIfExists: { "aws:Unknown": "x" } }, true],
    [{ StringEquals: { "aws:Unknown": "x" } }, false],
    [{ IpAdress: { "aws:SourceIp": "10.0.0.0/8" } }, false],
    [
      {
        ArnEquals: { "aws:SourceArn": TOPIC },
        StringEquals: { "aws:SourceAccount": "1" },
      },
      false,
    ],
  ])("%j", (Condition, expected) => {
    expect(allows({ ...ALLOW, Condition })).toBe(expected);
  });
});

describe("Deny", () => {
  const DENY = { ...ALLOW, Effect: "Deny" };

  test("wins over every Allow, before it or after it", () => {
    expect(allows(ALLOW, DENY)).toBe(false);
    expect(allows(DENY, ALLOW)).toBe(false);
  });

  test("that concerns something else changes nothing", () => {
    const insecure = { ...DENY, Condition: { Bool: { "aws:SecureTransport": "false" } } };
    const other = { ...DENY, Condition: { ArnEquals: { "aws:SourceArn": `${TOPIC}2` } } };
    expect(allows(ALLOW, insecure, other, { ...DENY, Action: "sqs:DeleteQueue" })).toBe(true);
  });

  test("with an unknown condition applies, to be safe", () => {
    const odd = { ...DENY, Condition: { IpAdress: { "aws:SourceIp": "10.0.0.0/8" } } };
    expect(allows(ALLOW, odd)).toBe(false);
  });
});

test("a Deny never makes anything allowed that was not", () => {
  const statement = fc.record({
    Effect: fc.constantFrom("Allow", "Deny"),
    Principal: fc.constantFrom<unknown>("*", { Service: "sns.amazonaws.com" }, { AWS: "x" }),
    Action: fc.constantFrom("sqs:SendMessage", "sqs:*", "sns:Publish"),
    Resource: fc.constantFrom(QUEUE, "*", "other"),
    Condition: fc.constantFrom(undefined, { ArnLike: { "aws:SourceArn": "*:orders" } }, { X: {} }),
  });
  fc.assert(
    fc.property(fc.array(statement), (statements) => {
      const allowed = statements.filter(({ Effect }) => Effect === "Allow");
      if (allows(...statements)) expect(allows(...allowed)).toBe(true);
      if (!statements.some(({ Effect }) => Effect === "Allow")) {
        expect(allows(...statements)).toBe(false);
      }
    }),
  );
});

test("patterns match as their translation into a regular expression does", () => {
  const piece = fc.constantFrom("a", "b", "*", "?", ":");
  const letter = fc.constantFrom("a", "b", ":");
  fc.assert(
    fc.property(fc.array(piece), fc.array(letter), (pieces, letters) => {
      const source = pieces.map((p) => (p === "*" ? ".*" : p === "?" ? "." : p)).join("");
      const text = letters.join("");
      expect(matchesPattern(pieces.join(""), text)).toBe(new RegExp(`^${source}$`).test(text));
    }),
  );
});

describe("requests of users and roles", () => {
  const role = "arn:aws:iam::000000000000:role/consumer";
  const request: AccessRequest = {
    principal: { arn: role },
    action: "s3:GetObject",
    resource: "arn:aws:s3:::files/in/a.csv",
    context: { "aws:securetransport": "false" },
  };
  const decide = (statement: object, more: Partial<AccessRequest> = {}) =>
    decideAccess(JSON.stringify({ Statement: statement }), { ...request, ...more });

  test.each<[unknown, string]>([
    [{ AWS: role }, "allow"],
    [{ AWS: "000000000000" }, "allow"],
    [{ AWS: "arn:aws:iam::000000000000:root" }, "allow"],
    [{ AWS: "arn:aws:iam::111111111111:root" }, "none"],
    [{ Service: "s3.amazonaws.com" }, "none"],
  ])("principal %j", (Principal, verdict) => {
    const statement = { Effect: "Allow", Principal, Action: "s3:GetObject", Resource: "*" };
    expect(decide(statement)).toBe(verdict);
  });

  test("the policy of a role needs no principal", () => {
    const statement = {
      Effect: "Allow",
      Action: "s3:GetObject",
      Resource: "arn:aws:s3:::files/in/*",
    };
    expect(decide(statement, { principal: null })).toBe("allow");
    expect(decide(statement)).toBe("none");
    const other = { principal: null, resource: "arn:aws:s3:::files/out/a.csv" };
    expect(decide(statement, other)).toBe("none");
  });

  test("a deny by condition is not the same as a missing allow", () => {
    const Condition = { Bool: { "aws:SecureTransport": "false" } };
    const deny = { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: "*", Condition };
    expect(decide(deny)).toBe("deny");
    expect(decide(deny, { context: { "aws:securetransport": "true" } })).toBe("none");
  });
});
