import fc from "fast-check";
import { expect, test } from "vitest";
import { SQS_VISIBILITY_MS_MAX } from "../../core/limits.ts";
import { durationMs, hours, minutes, seconds } from "../../core/units.ts";
import {
  BUSY_JITTER_MS,
  busyDelayMs,
  DELAY_MS_MAX,
  grantedDelayMs,
  POLL_BACKOFF_MS_MAX,
  POLL_BACKOFF_MS_MIN,
  pollBackoffMs,
  retryDelayMs,
} from "./retry.ts";

const SETTINGS = { baseMs: seconds(1), capMs: minutes(15) };
const ALMOST_ONE = 1 - 2 ** -53;

const anyFraction = () => fc.double({ min: 0, max: ALMOST_ONE, noNaN: true });
const anyNumber = () => fc.oneof(fc.double(), fc.integer(), fc.constant(Number.MAX_VALUE));

test("the bound doubles from the base with every attempt, up to the cap", () => {
  const bounds = [1, 2, 3, 7, 10, 11, 12].map((n) => retryDelayMs(SETTINGS, n, ALMOST_ONE) + 1);
  expect(bounds).toEqual([1, 2, 4, 64, 512, 900, 900].map((s) => s * 1_000));
});

test("delays are spread evenly from zero to the bound (Y1)", () => {
  const waits = [0, 0.25, 0.5, 0.75].map((fraction) => retryDelayMs(SETTINGS, 4, fraction));
  expect(waits).toEqual([0, 2_000, 4_000, 6_000]);
});

test("the delay of any attempt is a whole number and at most the cap", () => {
  const settings = fc.record({
    baseMs: fc.nat(Number.MAX_SAFE_INTEGER).map(durationMs),
    capMs: fc.nat(hours(11)).map(durationMs),
  });
  fc.assert(
    fc.property(settings, anyNumber(), anyFraction(), (each, attempt, fraction) => {
      const delay = retryDelayMs(each, attempt, fraction);
      expect(Number.isSafeInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(delay).toBeLessThanOrEqual(each.capMs);
    }),
  );
});

test("a later attempt never has a smaller bound", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), anyFraction(), (attempt, fraction) => {
      const [previous, next] = [attempt, attempt + 1].map((n) =>
        retryDelayMs(SETTINGS, n, fraction),
      );
      expect(next).toBeGreaterThanOrEqual(previous ?? Number.NaN);
    }),
  );
});

test("a duplicate of a record in progress is redelivered soon after its lease expires", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000, max: hours(11) }), anyFraction(), (leaseMs, fraction) => {
      const delay = busyDelayMs(leaseMs, fraction);
      expect(delay).toBeGreaterThanOrEqual(leaseMs);
      expect(delay).toBeLessThanOrEqual(Math.max(0, leaseMs) + BUSY_JITTER_MS);
    }),
  );
});

test("no delay is longer than SQS hides a message (Y3)", () => {
  fc.assert(
    fc.property(anyNumber(), anyNumber(), anyFraction(), (some, other, fraction) => {
      const settings = { baseMs: durationMs(some), capMs: durationMs(other) };
      for (const delay of [
        retryDelayMs(settings, some, fraction),
        busyDelayMs(some, fraction),
        grantedDelayMs(some, other),
      ]) {
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThan(SQS_VISIBILITY_MS_MAX);
      }
    }),
  );
});

test("SQS grants less delay the longer ago the receive was (Y3)", () => {
  expect(grantedDelayMs(minutes(15), minutes(5))).toBe(minutes(15));
  expect(grantedDelayMs(hours(2), hours(11))).toBe(DELAY_MS_MAX - hours(11));
  expect(grantedDelayMs(hours(2), hours(13))).toBe(0);
});

test("a failed poll is retried after at least 200 ms and at most 30 s", () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(), anyNumber()), anyFraction(), (failures, fraction) => {
      const delay = pollBackoffMs(failures, fraction);
      expect(delay).toBeGreaterThanOrEqual(POLL_BACKOFF_MS_MIN);
      expect(delay).toBeLessThanOrEqual(POLL_BACKOFF_MS_MAX);
    }),
  );
  expect(pollBackoffMs(1, ALMOST_ONE)).toBeLessThanOrEqual(400);
  expect(pollBackoffMs(20, ALMOST_ONE)).toBeGreaterThan(29_990);
});
