import fc from "fast-check";
import { expect, test } from "vitest";
import { type Leap, RunningTime } from "./running-time.ts";
import { durationMs, epochMs } from "./units.ts";

const NOW = epochMs(1_000_000);

function timeWith(...leaps: readonly Leap[]): RunningTime {
  const time = new RunningTime();
  for (const leap of leaps) time.add(leap);
  return time;
}

test("without leaps, spans are plain sums (R3)", () => {
  const time = timeWith();
  expect(time.ago(NOW, durationMs(300))).toBe(NOW - 300);
  expect(time.due(NOW, durationMs(300))).toBe(NOW + 300);
  expect(time.missingMs).toBe(0);
});

test("a leap does not count towards a span that began before it (R1)", () => {
  const time = timeWith({ from: 1_000, to: 51_000 });
  expect(time.due(epochMs(900), durationMs(300))).toBe(51_200);
  expect(time.due(epochMs(900), durationMs(99))).toBe(999);
  expect(time.due(epochMs(51_000), durationMs(300))).toBe(51_300);
  expect(time.ago(epochMs(51_200), durationMs(300))).toBe(900);
  expect(time.ago(epochMs(51_200), durationMs(100))).toBe(51_100);
  expect(time.missingMs).toBe(50_000);
});

const anyLeaps = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000 })), {
    maxLength: 6,
  })
  .map((spans) => {
    let at = 100;
    return spans.map(([runs, leaps]) => {
      const from = at + runs;
      at = from + leaps;
      return { from, to: at };
    });
  });

test("a span is over exactly when its due instant is reached, by either function (R2)", () => {
  fc.assert(
    fc.property(anyLeaps, fc.nat(200), fc.nat(200), fc.nat(300), (leaps, sent, later, spanMs) => {
      const time = timeWith(...leaps);
      const span = durationMs(spanMs);
      // Instants that the clock can show: none is inside a leap.
      const stamp = time.due(epochMs(50), durationMs(sent));
      const now = time.due(stamp, durationMs(later));
      expect(stamp <= time.ago(now, span)).toBe(now >= time.due(stamp, span));
      expect(now >= time.due(stamp, span)).toBe(later >= spanMs);
    }),
  );
});

test("of many leaps the oldest become one, and nothing is due earlier for it (R4)", () => {
  const leaps = Array.from({ length: 40 }, (_, n) => ({ from: 1_000 * n, to: 1_000 * n + 500 }));
  const time = timeWith(...leaps);
  expect(time.leaps.length).toBeLessThanOrEqual(16);
  const exact = 20_000 + 500;
  expect(time.due(epochMs(0), durationMs(500))).toBeGreaterThanOrEqual(1_500);
  expect(time.missingMs).toBeGreaterThanOrEqual(exact - 500);
});
