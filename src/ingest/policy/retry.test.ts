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

test("waits are spread evenly from nothing to the bound", () => {
  const waits = [0, 0.25, 0.5, 0.75].map((fraction) => retryDelayMs(SETTINGS, 4, fraction));
  expect(waits).toEqual([0, 2_000, 4_000, 6_000]);
});

test("no attempt, however high, waits for longer than the cap or for no number", () => {
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
      const [former, next] = [attempt, attempt + 1].map((n) => retryDelayMs(SETTINGS, n, fraction));
      expect(next).toBeGreaterThanOrEqual(former ?? Number.NaN);
    }),
  );
});

test("a duplicate of what is at work comes back after its lease, and soon after", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000, max: hours(11) }), anyFraction(), (left, fraction) => {
      const delay = busyDelayMs(left, fraction);
      expect(delay).toBeGreaterThanOrEqual(left);
      expect(delay).toBeLessThanOrEqual(Math.max(0, left) + BUSY_JITTER_MS);
    }),
  );
});

test("no wait is longer than SQS hides a message", () => {
  fc.assert(
    fc.property(anyNumber(), anyNumber(), anyFraction(), (some, other, fraction) => {
      const wild = { baseMs: durationMs(some), capMs: durationMs(other) };
      for (const delay of [
        retryDelayMs(wild, some, fraction),
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

test("what has passed since the receive is taken off what SQS still grants", () => {
  expect(grantedDelayMs(minutes(15), minutes(5))).toBe(minutes(15));
  expect(grantedDelayMs(hours(2), hours(11))).toBe(DELAY_MS_MAX - hours(11));
  expect(grantedDelayMs(hours(2), hours(13))).toBe(0);
});

test("polls that fail are repeated after 200 ms at the soonest and 30 s at the latest", () => {
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
