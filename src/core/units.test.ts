import { expect, test } from "vitest";
import * as limits from "./limits.ts";
import {
  addMs,
  bytes,
  days,
  durationMs,
  epochMs,
  hours,
  minutes,
  msBetween,
  seconds,
  subtractMs,
} from "./units.ts";

test("spans of every unit are milliseconds", () => {
  expect([seconds(2), minutes(2), hours(2), days(2)]).toEqual([
    2_000, 120_000, 7_200_000, 172_800_000,
  ]);
});

test("the span between an instant and the moved instant is the span it was moved by", () => {
  const at = epochMs(1_000);
  expect(msBetween(at, addMs(at, durationMs(250)))).toBe(250);
  expect(msBetween(at, subtractMs(at, durationMs(250)))).toBe(-250);
  expect(bytes(3)).toBe(3);
});

test("every limit carries its unit or what it counts, and no minimum exceeds its maximum", () => {
  const byName = new Map<string, number>(Object.entries(limits));
  expect(byName.size).toBeGreaterThan(50);
  for (const [name, value] of byName) {
    expect(Number.isInteger(value) && value > 0, name).toBe(true);
    const most = byName.get(name.replace(/_MIN$/, "_MAX"));
    if (most !== undefined) expect(value, name).toBeLessThanOrEqual(most);
  }
});

test("times that AWS gives in seconds are milliseconds here", () => {
  expect(limits.SQS_VISIBILITY_MS_MAX).toBe(43_200 * 1_000);
  expect(limits.SQS_RETENTION_MS_MAX).toBe(1_209_600 * 1_000);
  expect(limits.SQS_RETENTION_MS_DEFAULT).toBe(345_600 * 1_000);
  expect(limits.SQS_DELAY_MS_MAX).toBe(900 * 1_000);
  expect(limits.SQS_RECEIVE_WAIT_MS_MAX).toBe(20 * 1_000);
  expect(limits.SQS_DEDUP_WINDOW_MS).toBe(300 * 1_000);
});
