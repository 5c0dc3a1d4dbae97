import fc from "fast-check";
import { expect, test } from "vitest";
import { arn } from "../../../../test/support/broker/model-bench.ts";
import {
  allowsSource,
  formatRedrivePolicy,
  parseRedriveAllow,
  parseRedrivePolicy,
} from "./redrive-policy.ts";

const deadLetterTargetArn = arn("dead");

function policy(maxReceiveCount: unknown): string {
  return JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
}

test("every count from 1 to 1000 is accepted, as number or text, and read back as number", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.boolean(), (count, asText) => {
      const parsed = parseRedrivePolicy(policy(asText ? String(count) : count));
      if (!parsed.ok) throw new Error(parsed.fault.message);
      expect(formatRedrivePolicy(parsed.value)).toBe(
        `{"deadLetterTargetArn":"${deadLetterTargetArn}","maxReceiveCount":${count}}`,
      );
    }),
  );
});

test.each([
  policy(0),
  policy(1_001),
  policy(-1),
  policy(1.5),
  policy("ten"),
  policy(""),
  policy("1e2"),
  policy(null),
  policy([3]),
  JSON.stringify({ deadLetterTargetArn }),
  JSON.stringify({ maxReceiveCount: 3 }),
  JSON.stringify({ deadLetterTargetArn: 7, maxReceiveCount: 3 }),
  "[]",
  "null",
  "7",
  "{",
  "not json",
])("a redrive policy like %s is refused with InvalidParameterValue", (text) => {
  expect(parseRedrivePolicy(text)).toMatchObject({
    ok: false,
    fault: { name: "InvalidParameterValue" },
  });
});

function allow(redrivePermission: unknown, sourceQueueArns?: unknown): string {
  return JSON.stringify({ redrivePermission, sourceQueueArns });
}

const arns = (count: number) => Array.from({ length: count }, (_, index) => arn(`q${index}`));

test.each([
  allow("byQueue"),
  allow("byQueue", []),
  allow("byQueue", arns(11)),
  allow("byQueue", "q"),
  allow("byQueue", [1]),
  allow("allowAll", arns(1)),
  allow("denyAll", arns(1)),
  allow("some"),
  allow(undefined),
  "null",
  "x",
])("a redrive allow policy like %s is refused with InvalidParameterValue", (text) => {
  expect(parseRedriveAllow(text)).toMatchObject({
    ok: false,
    fault: { name: "InvalidParameterValue" },
  });
});

test("allowAll accepts every source, denyAll none, byQueue those it names", () => {
  const allowed = (text: string, source: string) => {
    const parsed = parseRedriveAllow(text);
    return parsed.ok && allowsSource(parsed.value, source);
  };
  expect(allowed(allow("allowAll"), arn("q0"))).toBe(true);
  expect(allowed(allow("denyAll"), arn("q0"))).toBe(false);
  expect(allowed(allow("byQueue", arns(10)), arn("q9"))).toBe(true);
  expect(allowed(allow("byQueue", arns(10)), arn("q10"))).toBe(false);
});
