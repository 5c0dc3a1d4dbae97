// DeliveryPolicy: how often and when a request to an HTTP endpoint is retried.
//   D1. A subscription's policy applies unless the topic's policy forbids it. Without either, AWS's
//       default applies: three retries, twenty seconds apart.
//   D2. Retries have four phases: immediately, at the minimum delay, growing from the minimum to
//       the maximum delay, at the maximum delay. AWS documents the four growth functions as a
//       drawing; ours start and end at the same points and bend the same way.
//   D3. All delays together are at most an hour; a policy that asks for more is refused.

import { unreachable } from "../../../core/assert.ts";
import { isObject } from "../../../core/is-object.ts";
import {
  SNS_RETRIES_MAX,
  SNS_RETRY_DELAY_MS_MAX,
  SNS_RETRY_TOTAL_MS_MAX,
} from "../../../core/limits.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import { type DurationMs, durationMs, seconds } from "../../../core/units.ts";

export type Backoff = "linear" | "arithmetic" | "geometric" | "exponential";

/** As in the JSON of a policy, seconds included. */
export interface RetryPolicy {
  readonly minDelayTarget: number;
  readonly maxDelayTarget: number;
  readonly numRetries: number;
  readonly numMaxDelayRetries: number;
  readonly numNoDelayRetries: number;
  readonly numMinDelayRetries: number;
  readonly backoffFunction: Backoff;
}

export interface DeliveryPolicy {
  readonly retry: RetryPolicy;
  readonly perSecondMax: number | null;
  readonly contentType: string;
}

/** The fields of one policy; null if not set. */
export interface PartialDeliveryPolicy {
  readonly retry: RetryPolicy | null;
  readonly perSecondMax: number | null;
  readonly contentType: string | null;
  /** In a topic's policy: policies of its subscriptions are ignored. */
  readonly overrides: boolean;
}

export type ParsedDeliveryPolicy = Result<PartialDeliveryPolicy, string>;

const DEFAULT_RETRY: RetryPolicy = {
  minDelayTarget: 20,
  maxDelayTarget: 20,
  numRetries: 3,
  numMaxDelayRetries: 0,
  numNoDelayRetries: 0,
  numMinDelayRetries: 0,
  backoffFunction: "linear",
};
const DEFAULT_CONTENT_TYPE = "text/plain; charset=UTF-8";
const SECOND_MS = 1_000;

type Json = Readonly<Record<string, unknown>>;

/** Unwinds the parsing of a policy; never leaves this file. */
class InvalidPolicy extends Error {}

export function parseTopicDeliveryPolicy(text: string): ParsedDeliveryPolicy {
  return parse(text, (root) => {
    const http = readObject(root, "http", "http") ?? {};
    const at = "http.";
    return {
      retry: readRetry(http.defaultHealthyRetryPolicy, `${at}defaultHealthyRetryPolicy`),
      perSecondMax: readThrottle(http.defaultThrottlePolicy, `${at}defaultThrottlePolicy`),
      contentType: readContentType(http.defaultRequestPolicy, `${at}defaultRequestPolicy`),
      overrides: http.disableSubscriptionOverrides === true,
    };
  });
}

export function parseSubscriptionDeliveryPolicy(text: string): ParsedDeliveryPolicy {
  return parse(text, (root) => ({
    retry: readRetry(root.healthyRetryPolicy, "healthyRetryPolicy"),
    perSecondMax: readThrottle(root.throttlePolicy, "throttlePolicy"),
    contentType: readContentType(root.requestPolicy, "requestPolicy"),
    overrides: false,
  }));
}

function parse(text: string, read: (root: Json) => PartialDeliveryPolicy): ParsedDeliveryPolicy {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return refuseWith("DeliveryPolicy: failed to parse JSON.");
  }
  if (!isObject(root)) return refuseWith("DeliveryPolicy: failed to parse JSON.");
  try {
    return succeed(read(root));
  } catch (error) {
    if (!(error instanceof InvalidPolicy)) throw error;
    return refuseWith(`DeliveryPolicy: ${error.message}`);
  }
}

function readObject(root: Json, name: string, at: string): Json | null {
  const value = root[name];
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw new InvalidPolicy(`${at} must be an object`);
  return value;
}

function readRetry(value: unknown, at: string): RetryPolicy | null {
  const given = readObject({ value }, "value", at);
  if (given === null) return null;
  const count = (name: keyof RetryPolicy, min: number, max: number): number => {
    const number = given[name] ?? DEFAULT_RETRY[name];
    const fits = typeof number === "number" && Number.isInteger(number);
    if (fits && number >= min && number <= max) return number;
    throw new InvalidPolicy(`${at}.${name} must be a whole number from ${min} to ${max}`);
  };
  const delayMax = SNS_RETRY_DELAY_MS_MAX / SECOND_MS;
  const policy: RetryPolicy = {
    minDelayTarget: count("minDelayTarget", 1, delayMax),
    maxDelayTarget: count("maxDelayTarget", 1, delayMax),
    numRetries: count("numRetries", 0, SNS_RETRIES_MAX),
    numMaxDelayRetries: count("numMaxDelayRetries", 0, SNS_RETRIES_MAX),
    numNoDelayRetries: count("numNoDelayRetries", 0, SNS_RETRIES_MAX),
    numMinDelayRetries: count("numMinDelayRetries", 0, SNS_RETRIES_MAX),
    backoffFunction: readBackoff(given.backoffFunction, at),
  };
  if (policy.maxDelayTarget < policy.minDelayTarget) {
    throw new InvalidPolicy(`${at}.maxDelayTarget must be greater than or equal to minDelayTarget`);
  }
  const { numNoDelayRetries, numMinDelayRetries, numMaxDelayRetries } = policy;
  if (numNoDelayRetries + numMinDelayRetries + numMaxDelayRetries > policy.numRetries) {
    throw new InvalidPolicy(
      `${at}.numRetries must be greater than or equal to the sum of all phases`,
    );
  }
  if (totalDelayMs(policy) > SNS_RETRY_TOTAL_MS_MAX) {
    const limit = SNS_RETRY_TOTAL_MS_MAX / SECOND_MS;
    throw new InvalidPolicy(
      `${at}: Total policy retry time cannot be greater than ${limit} seconds`,
    ); // D3
  }
  return policy;
}

function readBackoff(value: unknown, at: string): Backoff {
  const names = ["linear", "arithmetic", "geometric", "exponential"];
  const name = typeof value === "string" ? value.toLowerCase() : (value ?? "linear");
  if (typeof name === "string" && names.includes(name)) return name as Backoff;
  throw new InvalidPolicy(`${at}.backoffFunction must be one of ${names.join(", ")}`);
}

function readThrottle(value: unknown, at: string): number | null {
  const given = readObject({ value }, "value", at);
  const most = given?.maxReceivesPerSecond ?? null;
  if (most === null) return null;
  if (typeof most === "number" && Number.isInteger(most) && most >= 1) return most;
  throw new InvalidPolicy(`${at}.maxReceivesPerSecond must be a whole number greater than 0`);
}

function readContentType(value: unknown, at: string): string | null {
  const given = readObject({ value }, "value", at);
  const type = given?.headerContentType ?? null;
  if (type === null) return null;
  if (typeof type === "string" && /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/i.test(type)) {
    return type;
  }
  throw new InvalidPolicy(`${at}.headerContentType is not a content type`);
}

/** The policy that applies to a subscription (D1). */
export function effectivePolicy(
  topic: PartialDeliveryPolicy | null,
  subscription: PartialDeliveryPolicy | null,
): DeliveryPolicy {
  const own = topic?.overrides === true ? null : subscription;
  return {
    retry: own?.retry ?? topic?.retry ?? DEFAULT_RETRY,
    perSecondMax: own?.perSecondMax ?? topic?.perSecondMax ?? null,
    contentType: own?.contentType ?? topic?.contentType ?? DEFAULT_CONTENT_TYPE,
  };
}

/** EffectiveDeliveryPolicy of a topic. */
export function formatTopicPolicy(policy: PartialDeliveryPolicy | null): string {
  const { retry, perSecondMax, contentType } = effectivePolicy(policy, null);
  const throttle = perSecondMax === null ? null : { maxReceivesPerSecond: perSecondMax };
  return JSON.stringify({
    http: {
      defaultHealthyRetryPolicy: retry,
      disableSubscriptionOverrides: policy?.overrides ?? false,
      ...(throttle === null ? {} : { defaultThrottlePolicy: throttle }),
      defaultRequestPolicy: { headerContentType: contentType },
    },
  });
}

/** EffectiveDeliveryPolicy of a subscription. */
export function formatSubscriptionPolicy(policy: DeliveryPolicy): string {
  const { retry, perSecondMax, contentType } = policy;
  return JSON.stringify({
    healthyRetryPolicy: retry,
    sicklyRetryPolicy: null,
    throttlePolicy: perSecondMax === null ? null : { maxReceivesPerSecond: perSecondMax },
    requestPolicy: { headerContentType: contentType },
    guaranteed: false,
  });
}

/** How long to wait before the `retry`th retry, counted from 1; null if none remains. */
export function httpRetryDelayMs(policy: RetryPolicy, retry: number): DurationMs | null {
  if (retry > policy.numRetries) return null;
  const { numNoDelayRetries, numMinDelayRetries, numMaxDelayRetries } = policy;
  if (retry <= numNoDelayRetries) return durationMs(0);
  const minMs = seconds(policy.minDelayTarget);
  const maxMs = seconds(policy.maxDelayTarget);
  const step = retry - numNoDelayRetries - numMinDelayRetries;
  if (step <= 0) return minMs;
  const steps = policy.numRetries - numNoDelayRetries - numMinDelayRetries - numMaxDelayRetries;
  if (step > steps) return maxMs;
  if (steps === 1) return minMs;
  const share = growth(policy.backoffFunction, step - 1, steps - 1, maxMs / minMs);
  return durationMs(Math.round(minMs + (maxMs - minMs) * share)); // D2
}

/** The fraction of the way from minimum to maximum delay at step `i` of `n`. */
function growth(backoff: Backoff, i: number, n: number, ratio: number): number {
  switch (backoff) {
    case "linear":
      return i / n;
    case "arithmetic":
      return (i * (i + 1)) / (n * (n + 1));
    case "geometric":
      return ratio === 1 ? 0 : (ratio ** (i / n) - 1) / (ratio - 1);
    case "exponential":
      return (2 ** i - 1) / (2 ** n - 1);
    default:
      return unreachable(backoff);
  }
}

function totalDelayMs(policy: RetryPolicy): number {
  let totalMs = 0;
  for (let retry = 1; retry <= policy.numRetries; retry += 1) {
    totalMs += httpRetryDelayMs(policy, retry) ?? 0;
  }
  return totalMs;
}
