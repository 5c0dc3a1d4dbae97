import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  effectivePolicy,
  formatTopicPolicy,
  httpRetryDelayMs,
  parseSubscriptionDeliveryPolicy,
  parseTopicDeliveryPolicy,
  type RetryPolicy,
} from "./delivery-policy.ts";

function subscription(policy: unknown) {
  return parseSubscriptionDeliveryPolicy(JSON.stringify(policy));
}

function retryOf(healthyRetryPolicy: object): RetryPolicy {
  const parsed = subscription({ healthyRetryPolicy });
  if (!parsed.ok || parsed.value.retry === null) throw new Error("no policy");
  return parsed.value.retry;
}

function delaysOf(policy: RetryPolicy): (number | null)[] {
  const count = policy.numRetries + 1;
  return Array.from({ length: count }, (_, index) => httpRetryDelayMs(policy, index + 1));
}

describe("delays", () => {
  test("the default is three retries, twenty seconds apart", () => {
    const { retry, contentType } = effectivePolicy(null, null);
    expect(delaysOf(retry)).toEqual([20_000, 20_000, 20_000, null]);
    expect(contentType).toBe("text/plain; charset=UTF-8");
  });

  test("retries go through four phases: immediate, minimum delay, growing delay, maximum delay", () => {
    const policy = retryOf({
      minDelayTarget: 1,
      maxDelayTarget: 5,
      numRetries: 8,
      numNoDelayRetries: 1,
      numMinDelayRetries: 1,
      numMaxDelayRetries: 1,
    });
    expect(delaysOf(policy)).toEqual([0, 1_000, 1_000, 2_000, 3_000, 4_000, 5_000, 5_000, null]);
  });

  test.each([
    ["linear", [1_000, 4_750, 8_500, 12_250, 16_000]],
    ["arithmetic", [1_000, 2_500, 5_500, 10_000, 16_000]],
    ["geometric", [1_000, 2_000, 4_000, 8_000, 16_000]],
    ["exponential", [1_000, 2_000, 4_000, 8_000, 16_000]],
  ])("%s backoff grows from the minimum to the maximum delay", (backoffFunction, delays) => {
    const policy = retryOf({
      minDelayTarget: 1,
      maxDelayTarget: 16,
      numRetries: 5,
      backoffFunction,
    });
    expect(delaysOf(policy)).toEqual([...delays, null]);
  });

  test("delays of any valid policy never shrink, stay within bounds and total at most an hour", () => {
    const policies = fc.record({
      minDelayTarget: fc.integer({ min: 1, max: 3_600 }),
      maxDelayTarget: fc.integer({ min: 1, max: 3_600 }),
      numRetries: fc.integer({ min: 0, max: 100 }),
      numNoDelayRetries: fc.integer({ min: 0, max: 10 }),
      numMinDelayRetries: fc.integer({ min: 0, max: 10 }),
      numMaxDelayRetries: fc.integer({ min: 0, max: 10 }),
      backoffFunction: fc.constantFrom("linear", "arithmetic", "geometric", "exponential"),
    });
    fc.assert(
      fc.property(policies, (healthyRetryPolicy) => {
        const parsed = subscription({ healthyRetryPolicy });
        if (!parsed.ok) return;
        const policy = parsed.value.retry as RetryPolicy;
        const delays = delaysOf(policy).slice(0, -1) as number[];
        expect(delays).toEqual(delays.toSorted((a, b) => a - b));
        expect(delays.reduce((sum, delay) => sum + delay, 0)).toBeLessThanOrEqual(3_600_000);
        for (const delay of delays.slice(policy.numNoDelayRetries)) {
          expect(delay).toBeGreaterThanOrEqual(policy.minDelayTarget * 1_000);
          expect(delay).toBeLessThanOrEqual(policy.maxDelayTarget * 1_000);
        }
      }),
    );
  });
});

describe("an invalid policy is rejected", () => {
  const at = "healthyRetryPolicy";
  test.each<[object, string]>([
    [{ minDelayTarget: 0 }, `${at}.minDelayTarget must be a whole number from 1 to 3600`],
    [{ maxDelayTarget: 3_601 }, `${at}.maxDelayTarget must be a whole number from 1 to 3600`],
    [{ numRetries: 101 }, `${at}.numRetries must be a whole number from 0 to 100`],
    [{ numRetries: 1.5 }, `${at}.numRetries must be a whole number from 0 to 100`],
    [{ numRetries: "3" }, `${at}.numRetries must be a whole number from 0 to 100`],
    [
      { minDelayTarget: 30, maxDelayTarget: 20 },
      `${at}.maxDelayTarget must be greater than or equal to minDelayTarget`,
    ],
    [
      { numRetries: 3, numNoDelayRetries: 2, numMaxDelayRetries: 2 },
      `${at}.numRetries must be greater than or equal to the sum of all phases`,
    ],
    [
      { backoffFunction: "random" },
      `${at}.backoffFunction must be one of linear, arithmetic, geometric, exponential`,
    ],
    [
      { minDelayTarget: 3_599, maxDelayTarget: 3_600, numRetries: 10 },
      `${at}: Total policy retry time cannot be greater than 3600 seconds`,
    ],
  ])("%j", (policy, reason) => {
    expect(subscription({ [at]: policy })).toEqual({
      ok: false,
      fault: `DeliveryPolicy: ${reason}`,
    });
  });

  test("malformed JSON, a throttle of zero and an unknown content type are rejected", () => {
    expect(parseSubscriptionDeliveryPolicy("{").ok).toBe(false);
    expect(subscription([]).ok).toBe(false);
    expect(subscription({ healthyRetryPolicy: 5 }).ok).toBe(false);
    expect(subscription({ throttlePolicy: { maxReceivesPerSecond: 0 } }).ok).toBe(false);
    expect(subscription({ requestPolicy: { headerContentType: "x\r\ny: z" } }).ok).toBe(false);
  });

  test("errors in a topic's policy use the field names of topics", () => {
    const policy = {
      http: {
        defaultHealthyRetryPolicy: { numRetries: 100, minDelayTarget: 60, maxDelayTarget: 60 },
      },
    };
    expect(parseTopicDeliveryPolicy(JSON.stringify(policy))).toEqual({
      ok: false,
      fault:
        "DeliveryPolicy: http.defaultHealthyRetryPolicy: " +
        "Total policy retry time cannot be greater than 3600 seconds",
    });
  });
});

test("a subscription's policy overrides the topic's, unless the topic disables overrides", () => {
  const own = subscription({ healthyRetryPolicy: { numRetries: 1 } });
  const topic = (disableSubscriptionOverrides: boolean) =>
    parseTopicDeliveryPolicy(
      JSON.stringify({
        http: {
          defaultHealthyRetryPolicy: { numRetries: 7 },
          disableSubscriptionOverrides,
          defaultThrottlePolicy: { maxReceivesPerSecond: 2 },
        },
      }),
    );
  const free = topic(false);
  const strict = topic(true);
  if (!own.ok || !free.ok || !strict.ok) throw new Error("a policy was refused");
  expect(effectivePolicy(free.value, own.value).retry.numRetries).toBe(1);
  expect(effectivePolicy(strict.value, own.value).retry.numRetries).toBe(7);
  expect(effectivePolicy(free.value, own.value).perSecondMax).toBe(2);
  expect(JSON.parse(formatTopicPolicy(strict.value))).toMatchObject({
    http: {
      defaultHealthyRetryPolicy: { numRetries: 7, minDelayTarget: 20 },
      disableSubscriptionOverrides: true,
      defaultThrottlePolicy: { maxReceivesPerSecond: 2 },
    },
  });
});
