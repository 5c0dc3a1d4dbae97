import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MessageAttribute } from "../operations.ts";
import { passesFilter } from "./filter-policy.ts";
import { parseFilterPolicy } from "./filter-policy-validation.ts";

type Attributes = Record<string, MessageAttribute>;

const string = (value: string): MessageAttribute => ({ type: "String", value });
const number = (value: string): MessageAttribute => ({ type: "Number", value });
const array = (value: unknown): MessageAttribute => ({
  type: "String.Array",
  value: typeof value === "string" ? value : JSON.stringify(value),
});

function onAttributes(policy: object, attributes: Attributes | null): boolean {
  const parsed = parseFilterPolicy(JSON.stringify(policy), "MessageAttributes");
  if (!parsed.ok) throw new Error(parsed.fault);
  return passesFilter(parsed.value, attributes, "ignored");
}

function onBody(policy: object, body: unknown): boolean {
  const parsed = parseFilterPolicy(JSON.stringify(policy), "MessageBody");
  if (!parsed.ok) throw new Error(parsed.fault);
  return passesFilter(parsed.value, null, typeof body === "string" ? body : JSON.stringify(body));
}

function reasonOf(policy: unknown, scope: "MessageAttributes" | "MessageBody" = "MessageBody") {
  const text = typeof policy === "string" ? policy : JSON.stringify(policy);
  const parsed = parseFilterPolicy(text, scope);
  return parsed.ok ? null : parsed.fault;
}

describe("operators on attributes", () => {
  test.each<[string, unknown, MessageAttribute, boolean]>([
    ["an exact text", "red", string("red"), true],
    ["an exact text in another case", "red", string("Red"), false],
    ["a number by value", 5, number("5.0"), true],
    ["a number to five digits", 0.123456, number("0.1234561"), true],
    ["a number that differs in the fifth digit", 0.12345, number("0.12346"), false],
    ["a text is never a number", 5, string("5"), false],
    ["a number is never a text", "5", number("5"), false],
    ["a prefix", { prefix: "order-" }, string("order-1"), true],
    ["a prefix that is missing", { prefix: "order-" }, string("an order-1"), false],
    ["a suffix", { suffix: ".csv" }, string("a.csv"), true],
    ["a suffix that is missing", { suffix: ".csv" }, string("a.csv.gz"), false],
    ["letters of either case", { "equals-ignore-case": "tennis" }, string("TenNis"), true],
    ["anything but a text", { "anything-but": "rugby" }, string("tennis"), true],
    ["anything but that very text", { "anything-but": "rugby" }, string("rugby"), false],
    ["anything but a list", { "anything-but": ["a", "b"] }, string("b"), false],
    ["anything but numbers", { "anything-but": [100, 500] }, number("101"), true],
    ["anything but those numbers", { "anything-but": [100, 500] }, number("500.0"), false],
    ["anything but a prefix", { "anything-but": { prefix: "order-" } }, string("x"), true],
    ["that prefix", { "anything-but": { prefix: "order-" } }, string("order-x"), false],
    ["above", { numeric: [">", 100] }, number("100.00001"), true],
    ["not above", { numeric: [">", 100] }, number("100"), false],
    ["within a range", { numeric: [">", 0, "<=", 150] }, number("150"), true],
    ["outside a range", { numeric: [">", 0, "<=", 150] }, number("150.1"), false],
    ["equal by numeric", { numeric: ["=", 1.5] }, number("15e-1"), true],
    ["beyond a billion", { numeric: [">", 0] }, number("1000000001"), false],
    ["a text in a numeric rule", { numeric: [">", 0] }, string("5"), false],
    ["an address in a network", { cidr: "10.0.0.0/24" }, string("10.0.0.255"), true],
    ["an address outside", { cidr: "10.0.0.0/24" }, string("10.0.1.0"), false],
    ["an IPv6 address", { cidr: "2001:db8::/32" }, string("2001:db8:1::1"), true],
    ["no address", { cidr: "10.0.0.0/24" }, string("10.0.0"), false],
    ["one of an array", "b", array(["a", "b"]), true],
    ["a number of an array", 3, array([1, 3]), true],
    ["true of an array", true, array([true]), true],
    ["null of an array", null, array([null]), true],
    ["an array that is none", "a", array("a"), false],
    ["anything but one of an array", { "anything-but": "a" }, array(["a", "b"]), true],
    ["bytes", { prefix: "" }, { type: "Binary", value: "AQ==" }, false],
  ])("%s", (_, rule, attribute, passes) => {
    expect(onAttributes({ key: [rule] }, { key: attribute })).toBe(passes);
  });

  test("exists matches the presence or absence of an attribute, whatever its value", () => {
    const has = { key: [{ exists: true }] };
    const hasNot = { key: [{ exists: false }] };
    const bytes = { key: { type: "Binary", value: "AQ==" } };
    expect([onAttributes(has, bytes), onAttributes(hasNot, bytes)]).toEqual([true, false]);
    expect([onAttributes(has, null), onAttributes(hasNot, null)]).toEqual([false, true]);
    expect(onAttributes(has, { other: string("x") })).toBe(false);
  });

  test("every key must match, by any one of its rules", () => {
    const policy = { sport: ["rugby", { prefix: "ten" }], price: [{ numeric: ["<", 10] }] };
    expect(onAttributes(policy, { sport: string("tennis"), price: number("9") })).toBe(true);
    expect(onAttributes(policy, { sport: string("tennis"), price: number("10") })).toBe(false);
    expect(onAttributes(policy, { sport: string("tennis") })).toBe(false);
  });

  test("an empty policy matches every message", () => {
    expect(onAttributes({}, null)).toBe(true);
  });

  test("$or matches if any branch does, in addition to the other keys", () => {
    const policy = {
      source: ["aws"],
      $or: [{ metric: ["cpu"] }, { space: ["ec2", "es"] }],
    };
    const source = string("aws");
    expect(onAttributes(policy, { source, metric: string("cpu") })).toBe(true);
    expect(onAttributes(policy, { source, space: string("es") })).toBe(true);
    expect(onAttributes(policy, { source })).toBe(false);
    expect(onAttributes(policy, { space: string("es") })).toBe(false);
  });
});

describe("bodies", () => {
  test.each([["text"], ["[1]"], ["5"], ["null"], ["{"], [""]])(
    "a body that is not an object (%j) matches no policy, not even an empty one",
    (body) => {
      expect(onBody({}, body)).toBe(false);
      expect(onBody({ a: [{ exists: false }] }, body)).toBe(false);
    },
  );

  test("nested keys and keys with dots are the same path, in the policy and in the message", () => {
    const policies = [{ "a.b.c": ["x"] }, { a: { b: { c: ["x"] } } }, { "a.b": { c: ["x"] } }];
    const bodies = [
      { a: { b: { c: "x" } } },
      { "a.b.c": "x" },
      { "a.b": { c: "x" } },
      { a: { "b.c": "x" } },
    ];
    for (const policy of policies)
      for (const body of bodies) expect(onBody(policy, body)).toBe(true);
    expect(onBody(policies[0] as object, { a: { b: { c: "y" } } })).toBe(false);
  });

  test("an array matches if any of its elements does, at any depth", () => {
    const policy = {
      Records: {
        s3: { object: { key: [{ prefix: "auto-" }] } },
        eventName: [{ prefix: "ObjectCreated:" }],
      },
    };
    const record = (eventName: string, object: unknown) => ({ eventName, s3: { object } });
    const created = record("ObjectCreated:Put", { key: "auto-1" });
    const nested = record("ObjectCreated:Put", [[{ key: "auto-1" }]]);
    const removed = record("ObjectRemoved:Delete", { key: "auto-1" });
    expect(onBody(policy, { Records: [created] })).toBe(true);
    expect(onBody(policy, { Records: [nested, removed] })).toBe(true);
    expect(onBody(policy, { Records: [removed] })).toBe(false);
    expect(onBody(policy, { Records: [] })).toBe(false);
  });

  test("null, booleans and numbers match by type and value", () => {
    expect(onBody({ a: [null] }, { a: null })).toBe(true);
    expect(onBody({ a: [null] }, {})).toBe(false);
    expect(onBody({ a: [true] }, { a: "true" })).toBe(false);
    expect(onBody({ a: [{ numeric: [">=", 1] }] }, { a: 1 })).toBe(true);
    expect(onBody({ a: [{ numeric: [">=", 1] }] }, { a: "1" })).toBe(false);
  });

  test("$or works at every depth", () => {
    const policy = {
      $or: [{ metric: ["cpu"] }, { space: ["ec2"] }],
      detail: { scope: ["Service"], $or: [{ source: ["cw"] }, { type: ["alarm"] }] },
    };
    expect(onBody(policy, { metric: "cpu", detail: { scope: "Service", type: "alarm" } })).toBe(
      true,
    );
    expect(onBody(policy, { space: "ec2", detail: { scope: "Service", source: "cw" } })).toBe(true);
    expect(onBody(policy, { metric: "cpu", detail: { scope: "Service" } })).toBe(false);
    expect(onBody(policy, { detail: { scope: "Service", type: "alarm" } })).toBe(false);
  });

  test("a body with a hundred thousand levels is matched like any other", () => {
    const depth = 100_000;
    const body = `{"a":${"[".repeat(depth)}"x"${"]".repeat(depth)}}`;
    expect(onBody({ a: ["x"] }, body)).toBe(true);
  });
});

describe("an invalid policy is rejected with the message of AWS", () => {
  test.each<[unknown, string]>([
    ["{", "FilterPolicy: failed to parse JSON."],
    [[], "FilterPolicy: Filter is not an object"],
    [{ key: "value" }, 'FilterPolicy: "key" must be an object or an array'],
    [{ key: { suffix: "v" } }, 'FilterPolicy: "suffix" must be an object or an array'],
    [{ key: [] }, "FilterPolicy: Empty arrays are not allowed"],
    [
      { key: [["value"]] },
      "FilterPolicy: Match value must be String, number, true, false, or null",
    ],
    [{ key: [{ wrong: true }] }, "FilterPolicy: Unrecognized match type wrong"],
    [{ key: [{ wildcard: "a*" }] }, "FilterPolicy: Unrecognized match type wildcard"],
    [
      { key: [{ suffix: "a", prefix: "b" }] },
      "FilterPolicy: Only one key allowed in match expression",
    ],
    [{ key: [{ suffix: 100 }] }, "FilterPolicy: suffix match pattern must be a string"],
    [{ key: [{ suffix: null }] }, "FilterPolicy: suffix match pattern must be a string"],
    [{ key: [{ prefix: ["a"] }] }, "FilterPolicy: prefix match pattern must be a string"],
    [{ key: [{ cidr: 5 }] }, "FilterPolicy: prefix match pattern must be a string"],
    [{ key: [{ cidr: "10.0.0.0" }] }, "FilterPolicy: Malformed CIDR, one '/' required"],
    [
      { key: [{ cidr: "10.0.0.0/x" }] },
      "FilterPolicy: Malformed CIDR, mask bits must be an integer",
    ],
    [{ key: [{ cidr: "10.0.0/8" }] }, "FilterPolicy: Nonstandard IP address: 10.0.0"],
    [
      { key: [{ exists: "no" }] },
      "FilterPolicy: exists match pattern must be either true or false.",
    ],
    [
      { key: [{ "anything-but": { suffix: "x" } }] },
      "FilterPolicy: Unsupported anything-but pattern: suffix",
    ],
    [
      { key: [{ "anything-but": { prefix: false } }] },
      "FilterPolicy: prefix match pattern must be a string",
    ],
    [{ key: [{ numeric: [] }] }, "FilterPolicy: Invalid member in numeric match: ]"],
    [{ key: [{ numeric: [1, "<="] }] }, "FilterPolicy: Invalid member in numeric match: 1"],
    [
      { key: [{ numeric: ["operator"] }] },
      "FilterPolicy: Unrecognized numeric range operator: operator",
    ],
    [{ key: [{ numeric: ["=", "000"] }] }, "FilterPolicy: Value of equals must be numeric"],
    [{ key: [{ numeric: [">="] }] }, "FilterPolicy: Value of >= must be numeric"],
    [
      { key: [{ numeric: ["<", 100, ">", 10] }] },
      "FilterPolicy: Too many elements in numeric expression",
    ],
    [{ key: [{ numeric: [">=", 1, ">", 2] }] }, "FilterPolicy: Bad numeric range operator: >"],
    [{ key: [{ numeric: [">", 3, "<", 1] }] }, "FilterPolicy: Bottom must be less than top"],
    [{ key: [{ numeric: [">", 20, "<="] }] }, "FilterPolicy: Value of <= must be numeric"],
    [{ key: [{ numeric: [">", 20, 30] }] }, "FilterPolicy: Bad value in numeric range: 30"],
    [{ key: [{ numeric: [">", 20, "<", "30"] }] }, "FilterPolicy: Value of < must be numeric"],
    [
      { key: [{ numeric: [">", 20, "<", 30, "<", 50] }] },
      "FilterPolicy: Too many terms in numeric range expression",
    ],
  ])("%j", (policy, reason) => {
    expect(reasonOf(policy)).toBe(reason);
  });

  const values = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`);
  const TOO_COMPLEX = "FilterPolicy: Filter policy is too complex";

  test("a policy has at most five keys, at any depth", () => {
    const keys = (count: number) => Object.fromEntries(values(count).map((key) => [key, ["x"]]));
    const reason = "FilterPolicy: Filter policy can not have more than 5 keys";
    expect(reasonOf(keys(5))).toBeNull();
    expect(reasonOf(keys(6))).toBe(reason);
    expect(reasonOf({ parent: { ...keys(4), other: { ...keys(2) } } })).toBe(reason);
  });

  test("a policy has at most 150 combinations, counting depth and branches", () => {
    expect(reasonOf({ a: values(150) })).toBeNull();
    expect(reasonOf({ a: values(151) })).toBe(TOO_COMPLEX);
    expect(reasonOf({ a: values(100), b: values(51) })).toBe(TOO_COMPLEX);
    expect(reasonOf({ a: { b: values(75) } })).toBeNull();
    expect(reasonOf({ a: { b: values(76) } })).toBe(TOO_COMPLEX);
    expect(reasonOf({ $or: [{ a: values(75) }, { b: values(75) }] })).toBeNull();
    expect(reasonOf({ $or: [{ a: values(75) }, { b: values(76) }] })).toBe(TOO_COMPLEX);
  });

  test("only a policy on the body may have nested keys", () => {
    const nested = { object: { key: [{ prefix: "auto-" }] } };
    expect(reasonOf(nested, "MessageBody")).toBeNull();
    expect(reasonOf(nested, "MessageAttributes")).toBe(
      "Filter policy scope MessageAttributes does not support nested filter policy",
    );
  });

  test("an $or with one branch counts as a plain key", () => {
    expect(reasonOf({ $or: [{ a: ["x"] }] })).toBe("FilterPolicy: Unrecognized match type a");
  });

  test("combinations of nested $or branches add up", () => {
    let policy: object = { leaf: ["x"] };
    for (let depth = 0; depth < 8; depth += 1) policy = { $or: [policy, policy] };
    expect(reasonOf(policy)).toBe(TOO_COMPLEX);
  });

  test("combinations of adjacent $or keys multiply, and the limit applies before they are built", () => {
    const choice = { $or: values(9).map((value) => ({ k: [value] })) };
    expect(reasonOf({ ...choice, a: { ...choice, b: { ...choice, c: choice } } })).toBe(
      TOO_COMPLEX,
    );
  });
});

test("any JSON as policy or body gives a result and never throws", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (policy, body) => {
      const parsed = parseFilterPolicy(JSON.stringify(policy), "MessageBody");
      if (!parsed.ok) return typeof parsed.fault === "string";
      return typeof passesFilter(parsed.value, null, JSON.stringify(body)) === "boolean";
    }),
  );
});

test("the matcher agrees with a straightforward interpreter of the policy", () => {
  const word = fc.constantFrom("a", "b", "ab", "ba");
  const rule = fc.oneof(
    word,
    fc.record({ prefix: word }),
    fc.record({ "anything-but": fc.array(word, { minLength: 1, maxLength: 2 }) }),
    fc.record({ exists: fc.boolean() }),
  );
  const policies = fc.dictionary(word, fc.array(rule, { minLength: 1, maxLength: 3 }), {
    maxKeys: 3,
  });
  fc.assert(
    fc.property(policies, fc.dictionary(word, word), (policy, message) => {
      const attributes = Object.fromEntries(
        Object.entries(message).map(([name, value]) => [name, string(value)]),
      );
      const expected = Object.entries(policy).every(([key, rules]) =>
        rules.some((item) =>
          plainlyMeets(item, Object.hasOwn(message, key) ? message[key] : undefined),
        ),
      );
      expect(onAttributes(policy, attributes)).toBe(expected);
    }),
  );
});

type Rule = string | { prefix?: string; "anything-but"?: string[]; exists?: boolean };

function plainlyMeets(rule: Rule, value: string | undefined): boolean {
  if (typeof rule === "string") return value === rule;
  if (rule.exists !== undefined) return rule.exists === (value !== undefined);
  if (value === undefined) return false;
  if (rule.prefix !== undefined) return value.startsWith(rule.prefix);
  return !rule["anything-but"]?.includes(value);
}

test("matching costs only the fields that the policy names, however deep the message (F5)", () => {
  const levels = 60_000;
  const leaves = Array.from({ length: 20_000 }, (_, leaf) => `"${leaf}":1`).join(",");
  const body = `{"b":1,${'"a":{'.repeat(levels)}${leaves}${"}".repeat(levels)}}`;
  expect(onBody({ b: [1], a: { c: [{ exists: false }] } }, body)).toBe(true);
  expect(onBody({ a: { a: { c: [1] } } }, body)).toBe(false);
});
