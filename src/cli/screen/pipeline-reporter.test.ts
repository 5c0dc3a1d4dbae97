import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConsumerSnapshot } from "../../ingest/running/consumer.ts";
import { createReporter, type ReportMode } from "./pipeline-reporter.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function world(mode: ReportMode) {
  const printed = { out: [] as string[], err: [] as string[] };
  const out = {
    terminal: false,
    line: (text: string) => void printed.out.push(text),
    note: (text: string) => void printed.err.push(text),
  };
  const counts = { received: 0, committed: 0, watermark: 1, paused: null };
  const running = {
    name: "p",
    snapshot: () => ({ ...counts }) as unknown as ConsumerSnapshot,
    deadLetterDepth: () => Promise.resolve(0),
  };
  return { printed, counts, running, reporter: createReporter(out, mode) };
}

test("in a pipe, a line is printed when counts change, at most one every five seconds", () => {
  const { printed, counts, running, reporter } = world("plain");
  reporter.ready("ready", {});
  reporter.watch(running, "q");
  for (let second = 0; second < 20; second += 1) {
    counts.received += second < 9 ? 1 : 0;
    counts.watermark += 1;
    vi.advanceTimersByTime(1_000);
  }
  expect(printed.out).toHaveLength(3);
  reporter.close();
  reporter.close();
  expect(printed.out).toHaveLength(4);
  expect(printed.out.at(-1)).toMatch(/^received 9, /);
});

test("with JSON, every line on stdout is an object with an event, and stderr stays empty", () => {
  const { printed, counts, running, reporter } = world("json");
  reporter.ready("ready", { endpoint: "http://e" });
  reporter.hint(["for people only"]);
  reporter.event("finding", "fix this");
  reporter.watch(running, "q");
  counts.committed = 1;
  vi.advanceTimersByTime(5_000);
  reporter.close();
  expect(printed.err).toEqual([]);
  expect(printed.out.map((line) => JSON.parse(line))).toMatchObject([
    { event: "ready", endpoint: "http://e" },
    { event: "finding", message: "fix this" },
    { event: "progress", committed: 1 },
    { event: "progress", committed: 1 },
  ]);
});

test("for people, findings and hints go to stderr, and only the ready line to stdout", () => {
  const { printed, reporter } = world("plain");
  reporter.ready("ready", {});
  reporter.event("finding", "fix this");
  reporter.hint(["try this"]);
  reporter.close();
  expect(printed).toEqual({ out: ["ready"], err: ["fix this", "try this"] });
  expect(reporter.onLogLine).toBeUndefined();
});
