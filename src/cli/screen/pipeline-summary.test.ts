import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import type { ConsumerSnapshot } from "../../ingest/running/consumer.ts";
import { span, summaryLine, summaryScreen, wrap } from "./pipeline-summary.ts";

const snapshot: ConsumerSnapshot = {
  received: 120,
  ignored: 0,
  committed: 93,
  duplicates: 12,
  stale: 0,
  dropped: 0,
  held: 0,
  retried: 3,
  deadLettered: 5,
  returned: 0,
  lost: 0,
  inFlight: 2,
  waiting: 0,
  breaker: "closed",
  paused: null,
  watermark: epochMs(1_700_000_000_000),
  oldestUnsettledAt: epochMs(1_700_000_060_000),
};
const facts = {
  name: "stations",
  source: "s3://stations/observations/",
  runningMs: 61_000,
  nowMs: 1_700_000_063_000,
  rate: 12.34,
  deadLetters: 4,
};

test("a paused pipeline says so on the screen and in the line", () => {
  const paused = { since: epochMs(1_700_000_000_000), by: "ops", reason: "sink migration" };
  const text = "paused since 2023-11-14T22:13:20.000Z: sink migration";
  expect(summaryScreen({ ...snapshot, paused }, facts, 300).join("\n")).toContain(text);
  expect(summaryLine({ ...snapshot, paused })).toContain(text);
  expect(summaryLine(snapshot)).not.toContain("paused");
});

test("a wide terminal gets three lines", () => {
  expect(summaryScreen(snapshot, facts, 200)).toEqual([
    "stations from s3://stations/observations/   for 1 min 1 s",
    "received 120   committed 93   duplicates 12   retried 3   dead letters 5 (4 in the queue)",
    "in progress 2   waiting 0   12.3/s   oldest unsettled 3 s   watermark 2023-11-14T22:13:20.000Z",
  ]);
});

test("a narrow terminal gets more lines with the same content (S3)", () => {
  const wide = summaryScreen(snapshot, facts, 200).join("   ");
  for (const columns of [20, 40, 80]) {
    const lines = summaryScreen(snapshot, facts, columns);
    expect(lines.join("   ")).toBe(wide);
  }
});

test("rare outcomes appear once they occur (S2)", () => {
  const counts = { ignored: 5, stale: 1, dropped: 2, returned: 3, lost: 4 };
  const odd = { ...snapshot, ...counts, breaker: "open", watermark: null } as const;
  const screen = summaryScreen(odd, { ...facts, deadLetters: null }, 200).join("\n");
  expect(screen).toContain("ignored 5   stale 1   dropped 2   returned 3   leases lost 4");
  expect(screen).toContain("sink or ledger down, breaker open   watermark none yet");
  expect(summaryLine(odd)).toBe(
    "received 120, committed 93, duplicates 12, ignored 5, stale 1, dropped 2, returned 3, " +
      "leases lost 4, retried 3, " +
      "dead letters 5, in progress 2, waiting 0, breaker open",
  );
});

test("no line is wider than asked, but for a single item that is", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.integer({ min: 1, max: 100 }), (items, columns) => {
      for (const line of wrap(items, columns)) {
        expect(line.length <= columns || items.includes(line)).toBe(true);
      }
    }),
  );
});

test("durations are shown in at most two units", () => {
  expect([0, 59_999, 60_000, 3_600_000, 90_061_000].map(span)).toEqual([
    "0 s",
    "59 s",
    "1 min 0 s",
    "1 h 0 min",
    "25 h 1 min",
  ]);
});
