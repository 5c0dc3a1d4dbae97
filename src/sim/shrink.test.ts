import { expect, test } from "vitest";
import { createConsumer } from "../ingest/running/consumer.ts";
import { afterPromiseJobs as drain } from "../platform/system-turn.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import { type RunSeedOptions, runSeed } from "./run-seed.ts";
import { shrinkSeed } from "./shrink.ts";
import { writeStory } from "./story.ts";

/** A queue that acknowledges every message when it is delivered, before it is processed. */
function eager(queue: Queue): Queue {
  return {
    ...queue,
    async receive(request, signal) {
      const deliveries = await queue.receive(request, signal);
      const receipts = deliveries.map(({ receipt }) => receipt);
      if (receipts.length > 0) await queue.deleteBatch(receipts).catch(() => undefined);
      return deliveries;
    },
  };
}

const BROKEN: RunSeedOptions = {
  drain,
  hours: 0.25,
  topology: { events: 40, fifo: false, contents: "messages", consumers: 1 },
  parts: {
    createConsumer: (ports, options) =>
      createConsumer({ ...ports, queue: eager(ports.queue) }, options),
  },
};

test("a failing run is shrunk, and its story ends with the command that replays it", async () => {
  const failed = await runSeed(3, BROKEN);
  expect(failed.violations.map(({ checker }) => checker)).toContain("ack-after-commit");
  const { report, runs } = await shrinkSeed(failed, { ...BROKEN, runsMax: 60 });
  const names = new Set(
    report.events.flatMap((event) => (event.kind === "sent" ? [event.name] : [])),
  );
  expect(runs).toBeLessThanOrEqual(60);
  expect([...names].filter((name) => name.startsWith("e")).length).toBeLessThan(5);
  expect(report.fired.length).toBeLessThanOrEqual(failed.fired.length);
  expect(report.violations[0]?.checker).toBe(failed.violations[0]?.checker);
  const story = writeStory(report, "tidegate sim --seed 3");
  expect(story[0]).toContain("Seed 3 breaks");
  expect(story.join("\n")).toContain("acknowledges message");
  expect(story.at(-1)).toBe("  Replay: tidegate sim --seed 3");
});

test("a shrunk run reports the promise that broke first, even if it breaks others too", async () => {
  const failed = await runSeed(3, BROKEN);
  const first = failed.violations.filter(({ checker }) => checker === "ack-after-commit");
  const { report } = await shrinkSeed({ ...failed, violations: first }, { ...BROKEN, runsMax: 10 });
  const broken = new Set(report.violations.map(({ checker }) => checker));
  expect(broken).toContain("no-loss");
  expect(report.violations[0]?.checker).toBe("ack-after-commit");
});
